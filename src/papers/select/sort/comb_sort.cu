// The selector "comb-sort": every thread comb-sorts a whole row (Garcia 2008, 2.2 and 3.2): flat in
// k.
//
// A block of two warps owns 64 consecutive rows, a lane one row. The lane copies its row, packed,
// to position p of row r at entries[p * rows + r]; all rows have one length, so the lanes of a warp
// compare the same positions and their reads and writes are adjacent. Only the last passes, of gap
// 1, differ in number from lane to lane.
//
// Ties: the paper sorts values and moves indices along; packed entries move both at once, 8 bytes a
// value.
#include "gpu/runtime/device_memory.h"
#include "gpu/select/result.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = 64;
constexpr int batch = 8;  // pairs in flight

// Orders the pairs (i + j, i + j + gap), 0 <= j < count, which are disjoint for count <= gap.
// Whether any was swapped.
template <int count>
__device__ __forceinline__ bool order_pairs(Packed* first, std::int64_t step, std::int64_t i,
                                            std::int64_t gap) {
    Packed low[count], high[count];
    bool swapped = false;
#pragma unroll
    for (int j = 0; j < count; ++j) {
        low[j] = first[(i + j) * step];
        high[j] = first[(i + j + gap) * step];
    }
#pragma unroll
    for (int j = 0; j < count; ++j) {
        if (low[j] < high[j]) continue;
        first[(i + j) * step] = high[j];
        first[(i + j + gap) * step] = low[j];
        swapped = true;
    }
    return swapped;
}

__global__ void __launch_bounds__(threads)
    comb_sort_kernel(const float* values, std::int64_t stride, std::int64_t rows, std::int64_t n,
                     bool largest, Packed* entries, SelectOut out) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
    if (row >= rows) return;
    Packed* const first = entries + row;
#pragma unroll 8
    for (std::int64_t c = 0; c < n; ++c)
        first[c * rows] =
            pack(__ldg(values + c * stride + row), static_cast<std::uint32_t>(c), largest);
    bool swapped = true;
    for (std::int64_t gap = n; gap > 1 || swapped;) {
        gap = gap > 1 ? gap * 10 / 13 : 1;  // the shrink factor 1.3
        swapped = false;
        std::int64_t i = 0;
        if (gap >= batch)
            for (; i + batch <= n - gap; i += batch)
                swapped |= order_pairs<batch>(first, rows, i, gap);
        for (; i < n - gap; ++i) swapped |= order_pairs<1>(first, rows, i, gap);
    }
    for (std::int64_t j = 0; j < out.k; ++j) out.put(row, j, first[j * rows]);
}

}  // namespace

void comb_sort(const SelectJob& job, int) {
    Buffer<Packed> entries(job.rows * job.n, job.stream);
    const auto grid = static_cast<unsigned>((job.rows + threads - 1) / threads);
    comb_sort_kernel<<<grid, threads, 0, job.stream>>>(job.f32(), job.stride, job.rows, job.n,
                                                       job.largest, entries.get(),
                                                       out_of(job, SelectLayout::by_column));
    check_launch("comb_sort_kernel");
}

}  // namespace kith::gpu
