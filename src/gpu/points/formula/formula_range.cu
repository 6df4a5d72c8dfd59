// Kernels of formula_range.h. A warp owns a row.
#include "gpu/points/formula/formula_range.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ bool beyond(const Rows& rows, std::int64_t row,
                                       const formula::Range& range, std::int64_t d) {
    bool out = false;
    for (std::int64_t i = threadIdx.x % 32; i < d; i += 32) {
        const double x = rows.at(row, i);
        out |= !(x >= range.least && x <= range.most);
    }
    return __any_sync(0xffffffffu, out);
}

__device__ __forceinline__ std::int64_t own_row() {
    return (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
}

__global__ void points_kernel(PreparedRows in, FilterForm form, formula::Range range,
                              float* half_norm, float* point_error, std::int64_t d) {
    const std::int64_t at = own_row();
    if (at >= in.rows.count) return;
    const std::int64_t row = row_at(form, at, in.rows.count);
    if (in.nan[row] || !beyond(in.rows, row, range, d) || threadIdx.x % 32 != 0) return;
    half_norm[at] = -__int_as_float(0x7f800000);
    point_error[at] = __int_as_float(0x7f800000);
}

__global__ void queries_kernel(PreparedRows in, formula::Range range, float* query_error,
                               std::uint8_t* unfit, std::int64_t d) {
    const std::int64_t row = own_row();
    if (row >= in.rows.count) return;
    if (in.nan[row] || !beyond(in.rows, row, range, d) || threadIdx.x % 32 != 0) return;
    query_error[row] = -__int_as_float(0x7f800000);
    unfit[row] = to_scan;
}

}  // namespace

void leave_out_points(const PreparedRows& rows, const FilterForm& form, const formula::Range& range,
                      float* half_norm, float* point_error, std::int64_t d, cudaStream_t stream) {
    points_kernel<<<item_blocks(rows.rows.count * 32), item_threads, 0, stream>>>(
        rows, form, range, half_norm, point_error, d);
    check_launch("leave_out_points");
}

void leave_out_queries(const PreparedRows& rows, const formula::Range& range, float* query_error,
                       std::uint8_t* unfit, std::int64_t d, cudaStream_t stream) {
    queries_kernel<<<item_blocks(rows.rows.count * 32), item_threads, 0, stream>>>(
        rows, range, query_error, unfit, d);
    check_launch("leave_out_queries");
}

}  // namespace kith::gpu
