// How far queries are from cells (cells.h); what follows from that is in cell_rows.cu.
#include "gpu/filter/cells.h"

#include <cub/block/block_reduce.cuh>

#include <algorithm>

#include "gpu/filter/reach.cuh"
#include "gpu/filter/tuning.h"
#include "gpu/primitives/block.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int directions = cell_directions;
// More than rounding coordinates to f32, products of two of them and what follows lose of their
// lengths: (16 + 5) 2^-24; and than sums of numbers that are not normal.
constexpr double leading_rounding = 0x1p-18, least_rounding = 1e-12;

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}
__device__ __forceinline__ float infinite() {
    return __int_as_float(0x7f800000);
}

// A vector along the leading directions.
struct Leading {
    float x[directions];

    __device__ static Leading of(const float* rows, std::int64_t row) {
        Leading out;
        const auto* const from = reinterpret_cast<const float4*>(rows + row * directions);
#pragma unroll
        for (int i = 0; i < directions / 4; ++i) {
            const float4 four = from[i];
            out.x[4 * i] = four.x;
            out.x[4 * i + 1] = four.y;
            out.x[4 * i + 2] = four.z;
            out.x[4 * i + 3] = four.w;
        }
        return out;
    }
    __device__ Leading operator-(const Leading& other) const {
        Leading out;
#pragma unroll
        for (int i = 0; i < directions; ++i) out.x[i] = x[i] - other.x[i];
        return out;
    }
    __device__ float dot(const Leading& other) const {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < directions; ++i) sum = fmaf(x[i], other.x[i], sum);
        return sum;
    }
};

// Numbers in the order of finite values.
__device__ __forceinline__ int ordered(float x) {
    const int bits = __float_as_int(x);
    return bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ __forceinline__ float from_ordered(int key) {
    return __int_as_float(key ^ (key >> 31 & 0x7fffffff));
}
// Every byte of a number below all of these.
constexpr int below_all = 0x80;

__global__ void widen_kernel(const float* in, std::int64_t count, double* out) {
    const std::int64_t i = own_item();
    if (i < count) out[i] = static_cast<double>(in[i]);
}

// A warp owns a vector.
template <bool points>
__global__ void leading_kernel(exact::ProjectionError error, const __half* vectors,
                               std::int64_t depth, const double* along, const float* lost,
                               const float* half_norm, double gamma, std::int64_t count,
                               LeadingRows out) {
    const std::int64_t at = own_item() / 32;
    if (at >= count) return;
    const int lane = threadIdx.x % 32;
    double norm2 = 0;
    for (std::int64_t j = lane; j < depth; j += 32) {
        const auto x = static_cast<double>(__half2float(vectors[at * depth + j]));
        norm2 += x * x;
    }
    norm2 = warp_sum(norm2);
    if (lane < directions)
        out.coordinates[at * directions + lane] = static_cast<float>(along[at * directions + lane]);
    if (lane > 0) return;
    const double norm = sqrt(norm2);
    const double own =
        error.with(norm2 > 0 ? static_cast<double>(lost[at]) / norm * (1 + 0x1p-40) : 0.0)
            .coordinates;
    // Of what is not a number nothing is known.
    const auto or_infinite = [](double x) { return x == x ? x : static_cast<double>(infinite()); };
    out.error[at] = __double2float_ru(
        or_infinite((own + leading_rounding) * norm * (1 + 0x1p-20) + least_rounding));
    if constexpr (points) {
        const auto h = static_cast<double>(half_norm[at]);
        // What is +inf or NaN passes no threshold; -inf is not covered and passes all.
        out.room[at] =
            h < static_cast<double>(infinite())
                ? or_infinite((room_of_point(gamma, norm2, h) + room_of_longest(gamma, norm2)) *
                              (1 + 0x1p-40))
                : -static_cast<double>(infinite());
    } else {
        out.room[at] = norm2;
    }
}

constexpr int cell_threads = 256;

// A block owns a cell.
__global__ void __launch_bounds__(cell_threads)
    order_kernel(LeadingRows rows, const std::uint32_t* members, CellView view, float* coordinates,
                 float* centres, CellBound* bounds) {
    using Reduce = cub::BlockReduce<double, cell_threads>;
    __shared__ typename Reduce::TempStorage storage;
    const std::int64_t first = blockIdx.x * view.size,
                       here = min(view.size, view.n - view.first - first);
    double sums[directions] = {}, room = -static_cast<double>(infinite()), error = 0;
    for (std::int64_t i = threadIdx.x; i < here; i += cell_threads) {
        const std::uint32_t row = members[first + i];
        const Leading own = Leading::of(rows.coordinates, row);
        auto* const to = reinterpret_cast<float4*>(coordinates + (first + i) * directions);
#pragma unroll
        for (int j = 0; j < directions / 4; ++j)
            to[j] = {own.x[4 * j], own.x[4 * j + 1], own.x[4 * j + 2], own.x[4 * j + 3]};
#pragma unroll
        for (int j = 0; j < directions; ++j) sums[j] += static_cast<double>(own.x[j]);
        room = fmax(room, rows.room[row]);
        error = fmax(error, static_cast<double>(rows.error[row]));
    }
#pragma unroll
    for (int j = 0; j < directions; ++j) {
        const double sum = Reduce(storage).Sum(sums[j]);
        if (threadIdx.x == 0)
            centres[blockIdx.x * directions + j] =
                static_cast<float>(sum / static_cast<double>(here));
        __syncthreads();
    }
    const auto larger = [](double a, double b) { return fmax(a, b); };
    const double most_room = Reduce(storage).Reduce(room, larger);
    __syncthreads();
    const double most_error = Reduce(storage).Reduce(error, larger);
    if (threadIdx.x == 0) bounds[blockIdx.x] = {most_room, __double2float_ru(most_error)};
}

// A warp owns a query, a lane every 32nd cell.
__global__ void __launch_bounds__(cell_threads)
    nearest_kernel(CellView view, const float* coordinates, std::int64_t q, std::uint32_t* out) {
    const std::int64_t own = own_item() / 32;
    if (own >= q) return;
    const int lane = threadIdx.x % 32;
    const Leading u = Leading::of(coordinates, own);
    float best = infinite();
    int which = 0;
#pragma unroll 2
    for (int c = lane; c < static_cast<int>(view.count); c += 32) {
        const Leading apart = u - Leading::of(view.centres, c);
        const float square = apart.dot(apart);
        if (!(square < best)) continue;
        best = square;
        which = c;
    }
    // Squares in the order of their bits.
    const int least = __reduce_min_sync(whole_warp, ordered(best));
    which = __reduce_min_sync(whole_warp,
                              ordered(best) == least ? which : static_cast<int>(most_cells));
    if (lane == 0) out[own] = static_cast<std::uint32_t>(which);
}

// A block owns a group, half a warp a query at a time.
__global__ void __launch_bounds__(static_cast<int>(cell_group))
    centre_kernel(CellQueries queries, float* centres) {
    constexpr int at_once = static_cast<int>(cell_group) / directions;
    __shared__ float sums[at_once][directions];
    const int direction = threadIdx.x % directions, part = threadIdx.x / directions;
    const std::int64_t first = blockIdx.x * queries.group,
                       here = min(queries.group, queries.q - first);
    float sum = 0;
    for (std::int64_t i = part; i < here; i += at_once)
        sum += queries.rows
                   .coordinates[queries.order[first + i] * std::int64_t{directions} + direction];
    sums[part][direction] = sum;
    __syncthreads();
    if (part > 0) return;
    for (int i = 1; i < at_once; ++i) sum += sums[i][direction];
    centres[blockIdx.x * directions + direction] = sum / static_cast<float>(here);
}

constexpr int support_points = 4, support_block = support_points * cell_threads,
              support_groups = 64;
static_assert(least_cell_points % support_block == 0);

// max <v, w> of the points of a cell, for each group's w. A block owns a part of a cell, a thread
// four points.
__global__ void __launch_bounds__(cell_threads)
    support_kernel(CellView view, const float* centres, int groups, int* supports) {
    __shared__ alignas(16) float ws[support_groups][directions];
    const std::int64_t cell = blockIdx.x, end = min(view.n - view.first, (cell + 1) * view.size);
    std::int64_t own =
        cell * view.size + blockIdx.y * static_cast<std::int64_t>(support_block) + threadIdx.x;
    if (own - threadIdx.x >= end) return;
    Leading v[support_points];
#pragma unroll
    for (int i = 0; i < support_points; ++i)
        v[i] = Leading::of(view.coordinates, min(own + i * std::int64_t{cell_threads}, end - 1));
    for (int first = 0; first < groups; first += support_groups) {
        const int here = min(support_groups, groups - first);
        __syncthreads();
        for (int i = threadIdx.x; i < here * directions; i += cell_threads)
            ws[i / directions][i % directions] =
                centres[first * directions + i] - view.centres[cell * directions + i % directions];
        __syncthreads();
        for (int g = 0; g < here; ++g) {
            const Leading w = Leading::of(&ws[0][0], g);
            float most = v[0].dot(w);
#pragma unroll
            for (int i = 1; i < support_points; ++i) most = fmaxf(most, v[i].dot(w));
            const int key = __reduce_max_sync(whole_warp, ordered(most));
            if (threadIdx.x % 32 == 0) atomicMax(&supports[(first + g) * view.count + cell], key);
        }
    }
}

constexpr int apart_cells = 32;

// A block owns cell_threads queries and some cells, a thread a query.
__global__ void __launch_bounds__(cell_threads)
    apart_kernel(CellView view, CellQueries queries, const float* centres, const int* supports) {
    const std::int64_t own = own_item();
    if (own >= queries.q) return;
    const std::uint32_t number = queries.order[own];
    const Leading u = Leading::of(queries.rows.coordinates, number),
                  centre = Leading::of(centres, own / queries.group);
    const float error = queries.rows.error[number];
    const auto first = static_cast<int>(blockIdx.y) * apart_cells,
               end = min(first + apart_cells, static_cast<int>(view.count));
    for (int c = first; c < end; ++c) {
        const Leading w = centre - Leading::of(view.centres, c);
        const float length = sqrtf(w.dot(w)),
                    support = from_ordered(supports[own / queries.group * view.count + c]);
        float apart = (u.dot(w) - support) / length;
        apart = apart > 0 ? apart * (1 - 0x1p-18f) : apart;
        apart = __fsub_rd(apart, __fadd_ru(error, view.bounds[c].error));
        // Of a direction without a length nothing is known.
        queries.apart[c * queries.q + own] =
            length > 1e-15f && length < 1e15f && apart == apart ? apart : -infinite();
    }
}

// A thread owns a query.
__global__ void __launch_bounds__(cell_threads) near_kernel(CellView view, CellQueries queries) {
    const std::int64_t own = own_item();
    if (own >= queries.q) return;
    float least[near_cells + 1];
#pragma unroll
    for (int i = 0; i <= near_cells; ++i) least[i] = infinite();
#pragma unroll 8
    for (int c = 0; c < static_cast<int>(view.count); ++c) {
        float x = queries.apart[c * queries.q + own];
#pragma unroll
        for (int i = 0; i <= near_cells; ++i) {
            const float smaller = fminf(x, least[i]);
            x = fmaxf(x, least[i]);
            least[i] = smaller;
        }
    }
    queries.near[own] = least[near_cells];
}

template <class Then>
void in_runs(const LeadingColumns& columns, const __half* vectors, std::int64_t count,
             cudaStream_t stream, Then then) {
    const std::int64_t depth = columns.matrix->depth(),
                       step = std::min(count, tuning::projected_rows(depth, directions));
    const Buffer<double> along(step * directions, stream);
    const Buffer<float> lost(step, stream);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        product(vectors + first * depth, some, *columns.matrix, directions, along.get(), directions,
                lost.get(), stream);
        then(first, some, along.get(), lost.get());
    }
}

LeadingRows part(const LeadingRows& rows, std::int64_t first) {
    return {rows.coordinates + first * directions, rows.error + first, rows.room + first};
}

}  // namespace

void leading_rows(const LeadingColumns& columns, const __half* vectors, std::int64_t count,
                  const LeadingRows& out, cudaStream_t stream) {
    const std::int64_t depth = columns.matrix->depth();
    in_runs(columns, vectors, count, stream,
            [&](std::int64_t first, std::int64_t some, const double* along, const float* lost) {
                leading_kernel<false><<<blocks_for(some, item_warps), item_threads, 0, stream>>>(
                    columns.error, vectors + first * depth, depth, along, lost, nullptr, 0, some,
                    part(out, first));
                check_launch("leading_rows");
            });
}

void leading_point_rows(const LeadingColumns& columns, const __half* vectors,
                        const float* half_norm, std::int64_t count, double gamma,
                        const LeadingRows& out, cudaStream_t stream) {
    const std::int64_t depth = columns.matrix->depth();
    in_runs(columns, vectors, count, stream,
            [&](std::int64_t first, std::int64_t some, const double* along, const float* lost) {
                leading_kernel<true><<<blocks_for(some, item_warps), item_threads, 0, stream>>>(
                    columns.error, vectors + first * depth, depth, along, lost, half_norm + first,
                    gamma, some, part(out, first));
                check_launch("leading_point_rows");
            });
}

void widen(const float* in, std::int64_t count, double* out, cudaStream_t stream) {
    widen_kernel<<<item_blocks(count), item_threads, 0, stream>>>(in, count, out);
    check_launch("widen");
}

void order_leading_rows(const LeadingRows& rows, const std::uint32_t* members, const CellView& view,
                        float* coordinates, float* centres, CellBound* bounds,
                        cudaStream_t stream) {
    order_kernel<<<static_cast<unsigned>(view.count), cell_threads, 0, stream>>>(
        rows, members, view, coordinates, centres, bounds);
    check_launch("order_leading_rows");
}

void nearest_cells(const CellView& view, const float* coordinates, std::int64_t q,
                   std::uint32_t* out, cudaStream_t stream) {
    nearest_kernel<<<blocks_for(q, item_warps), item_threads, 0, stream>>>(view, coordinates, q,
                                                                           out);
    check_launch("nearest_cells");
}

void measure_cells(const CellView& view, const CellQueries& queries, float* centres, int* supports,
                   cudaStream_t stream) {
    const std::int64_t groups = queries.groups();
    centre_kernel<<<static_cast<unsigned>(groups), static_cast<unsigned>(cell_group), 0, stream>>>(
        queries, centres);
    check_launch("measure_cells");
    check(cudaMemsetAsync(supports, below_all,
                          static_cast<std::size_t>(groups * view.count) * sizeof(int), stream),
          "cudaMemset");
    support_kernel<<<dim3(static_cast<unsigned>(view.count), blocks_for(view.size, support_block)),
                     cell_threads, 0, stream>>>(view, centres, static_cast<int>(groups), supports);
    check_launch("measure_cells");
    apart_kernel<<<dim3(blocks_for(queries.q, cell_threads), blocks_for(view.count, apart_cells)),
                   cell_threads, 0, stream>>>(view, queries, centres, supports);
    check_launch("measure_cells");
    near_kernel<<<blocks_for(queries.q, cell_threads), cell_threads, 0, stream>>>(view, queries);
    check_launch("measure_cells");
}

}  // namespace kith::gpu
