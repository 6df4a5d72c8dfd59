// Arrays of Python as matrices of the library.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kith/types.h"

namespace kith::python {

// An array in numbers, as numpy's __array_interface__ has it, where that takes less time than DLPack (torch's). `owner`
// keeps the memory.
struct ArrayInterface {
    nanobind::object owner;
    std::uintptr_t data;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  // in elements
    std::string type;                   // "float32", "int64", ...
    int device;                         // as MatrixView::device
};

// The name of a type of DLPack: "float32", "bfloat16", ...
std::string element_name(nanobind::dlpack::dtype type);
// The type that has it; none: the library does not know it.
std::optional<ElementType> element_type(std::string_view name);
// As MatrixView::device; none: neither the host's memory nor a CUDA device's.
std::optional<int> device_of(int dlpack_type, int id);
// The type of "float32", "bfloat16", ... ("bool": u8). Throws TypeError for one that the library does not know.
ElementType element_type_named(const std::string& name);

// How rows x cols elements lie that are `down` from row to row and `along` from column to column, as MatrixView has it.
// None: neither rows nor columns are contiguous and apart from each other, as those of a broadcast or sliding view are
// not.
std::optional<Layout> layout_of(std::int64_t rows, std::int64_t cols, std::int64_t down, std::int64_t along);

// An array that stays alive and unmoved while this does, and the view of it.
class Matrix {
public:
    // An ArrayInterface, or anything with __dlpack__ or the buffer protocol: 2-dimensional, of a type that the library
    // takes (bool as u8), in host memory or on a CUDA device. Rows or columns may lie anywhere; without a layout_of()
    // them a packed copy is made (of host memory; of a device's that is a ValueError). `name` is what messages
    // call it. Throws TypeError, ValueError.
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

    void* data() const { return data_; }
    int device() const { return device_; }  // as MatrixView::device

private:
    nanobind::ndarray<> array_;
    void* data_ = nullptr;
    int device_ = host_memory;
};

// The memory of an array: from its first byte to after its last; null where it has none.
struct Bytes {
    const char* first = nullptr;
    const char* last = nullptr;
};
Bytes bytes_of(const MatrixView& view);
Bytes bytes_of(const Output& out, std::int64_t cells, std::int64_t size);  // of contiguous cells
// Throws ValueError for a result that overlaps with an input or with another result.
void refuse_overlap(const Bytes& a, const Bytes& b);

}  // namespace kith::python
