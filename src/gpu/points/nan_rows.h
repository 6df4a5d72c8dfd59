// Rows of a matrix on a GPU that hold a NaN, looked for during a call. No CUDA type.
#pragma once

#include <cstdint>
#include <memory>

#include "kith/types.h"

namespace kith::gpu {

class NanSearch {
public:
    // Enqueues a pass over the matrix on the stream (cudaStream_t).
    NanSearch(const MatrixView& rows, void* stream);
    ~NanSearch();
    NanSearch(const NanSearch&) = delete;
    NanSearch& operator=(const NanSearch&) = delete;
    // Waits for the stream. Counts the rows in a second pass where there is a NaN.
    std::int64_t count();

private:
    struct Work;
    std::unique_ptr<Work> work_;
};

}  // namespace kith::gpu
