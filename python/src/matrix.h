// Arrays of Python as matrices of the library.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

#include "kith/types.h"

namespace kith::python {

// An array that stays alive and unmoved while this does, and the view of it.
class Matrix {
public:
    // Anything with __dlpack__ or the buffer protocol, 2-dimensional, of a type that the library takes (bool as u8), in
    // host memory or on a CUDA device. Rows or columns may lie anywhere; where neither is contiguous a packed copy is
    // made (of host memory; of a device's that is a ValueError). `name` is what messages call it. Throws TypeError,
    // ValueError.
    Matrix(nanobind::handle array, const char* name);
    // An absent matrix: no data.
    Matrix() = default;

    const MatrixView& view() const { return view_; }

private:
    nanobind::ndarray<nanobind::ro> array_;
    std::vector<std::byte> packed_;
    MatrixView view_;
};

// The memory of `array`, which must be writable, C-contiguous, of `type`, rows x cols; null for None. Throws TypeError,
// ValueError.
class Output {
public:
    Output(nanobind::handle array, const char* name, ElementType type, std::int64_t rows, std::int64_t cols);

    void* data() const { return array_.is_valid() ? array_.data() : nullptr; }
    int device() const;  // as MatrixView::device

private:
    nanobind::ndarray<> array_;
};

}  // namespace kith::python
