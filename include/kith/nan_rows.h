// Counts the rows of a matrix that hold a NaN: as points they are nobody's neighbours, as queries they have none.
//
//     kith::NanRows in_points(points, stream);           // a GPU's memory: read in the order of the stream
//     kith::Report report = kith::search_into(points, queries, k, options, out);
//     std::int64_t rows = in_points.count();
#pragma once

#include <cstdint>
#include <memory>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

class NanRows {
public:
    // n x d in host memory, which count() reads, or on a GPU, where `stream` (cudaStream_t; null: the default stream)
    // is given work that reads it once. The matrix must stay as it is until count() has returned, or until destruction.
    // Throws device.
    KITH_EXPORT explicit NanRows(const MatrixView& rows, void* stream = nullptr);
    KITH_EXPORT ~NanRows();
    KITH_EXPORT NanRows(NanRows&& other) noexcept;
    KITH_EXPORT NanRows& operator=(NanRows&& other) noexcept;

    // The number of rows, found by bits, whatever the state of floating point. Host memory: on up to `threads` threads
    // (0: all). A GPU: waits for the stream, and reads the matrix a second time where there is a NaN. Call it once.
    // O(n d). Throws device.
    KITH_EXPORT std::int64_t count(int threads = 0);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace kith
