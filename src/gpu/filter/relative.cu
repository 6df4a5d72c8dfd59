// Kernels of relative.h.
#include "gpu/filter/relative.h"

#include "exact/order.h"
#include "gpu/filter/ball_bound.h"
#include "gpu/filter/bound.h"
#include "gpu/primitives/block.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr float largest = 3.402823466e38f;

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

__device__ __forceinline__ float infinity() {
    return __int_as_float(0x7f800000);
}

// ---- preparing

__global__ void positions_kernel(FilterForm form, std::int64_t n, std::uint32_t* position) {
    const std::int64_t at = own_item();
    if (at < n) position[row_at(form, at, n)] = static_cast<std::uint32_t>(at);
}

__global__ void tile_counts_kernel(ClusterView view, RelativeView relative) {
    const std::int64_t c = own_item();
    if (c >= view.count) return;
    relative.tile_begin[c] = (view.begin[c + 1] - view.begin[c] + filter_tile_points - 1) / filter_tile_points;
    relative.bounds[c] = {};
}

__global__ void tiles_kernel(ClusterView view, RelativeView relative) {
    const std::int64_t c = own_item();
    if (c >= view.count) return;
    const std::uint32_t first = relative.tile_begin[c], end = relative.tile_begin[c + 1];
    for (std::uint32_t t = first; t < end; ++t)
        relative.tiles[t] = {view.begin[c] + (t - first) * static_cast<std::uint32_t>(filter_tile_points),
                             static_cast<std::uint32_t>(c)};
}

__global__ void fill_kernel(float* out, std::int64_t count, float value) {
    const std::int64_t at = own_item();
    if (at < count) out[at] = value;
}

// A row's coordinates as the filter rounds them.
struct ExactRow {
    const double* coordinates;
    const double* centre;  // of unit vectors, or null
    double factor = 0, scale = 0;
    std::int64_t d;

    // The whole warp calls.
    __device__ ExactRow(const FilterForm& form, const double* row, std::int64_t dimensions)
        : coordinates(row), centre(form.unit ? form.centre : nullptr), scale(form.scale), d(dimensions) {
        factor = scale;
        if (!form.unit) return;
        double norm2 = 0;
        for (std::int64_t i = threadIdx.x % 32; i < d; i += 32) norm2 += row[i] * row[i];
        norm2 = warp_sum(norm2);
        factor = norm2 > 0 ? scale / sqrt(norm2) : 0.0;
    }
    __device__ double at(std::int64_t i) const {
        if (i >= d) return 0;
        const double x = coordinates[i] * factor;
        return centre ? x - centre[i] * scale : x;
    }
};

// Which cluster the point at that offset from the first is of.
__device__ std::int64_t cluster_of(const ClusterView& view, std::uint32_t offset) {
    std::int64_t low = 0, high = view.count;
    while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (view.begin[middle] <= offset ? low : high) = middle;
    }
    return low;
}

// A warp owns a row.
__global__ void points_kernel(ClusterView view, RelativeView relative, FilterForm form, RelativeRows rows) {
    const std::int64_t own = own_item() / 32;
    if (own >= rows.count) return;
    const std::int64_t position = rows.position[own];
    if (position < view.first) return;
    const int lane = threadIdx.x % 32;
    const auto offset = static_cast<std::uint32_t>(position - view.first);
    const std::int64_t cluster = cluster_of(view, offset);
    const auto* const centre = static_cast<const __half*>(view.centres) + cluster * view.width;
    __half* const out = static_cast<__half*>(relative.vectors) + static_cast<std::int64_t>(offset) * view.width;
    const std::uint32_t within = offset - view.begin[cluster];
    float* const half_norm =
        relative.half_norm + static_cast<std::int64_t>(relative.tile_begin[cluster]) * filter_tile_points + within;
    const float before = rows.half_norm[position];
    const ExactRow row(form, rows.coordinates + own * rows.d, rows.d);
    double norm2 = 0, rest2 = 0, h = 0;
    for (std::int64_t i = lane; i < view.width; i += 32) {
        const auto c = static_cast<double>(__half2float(centre[i]));
        const double y = row.at(i) - c;
        const __half rounded = __double2half(y);
        const double rest = y - static_cast<double>(__half2float(rounded));
        norm2 += y * y;
        rest2 += rest * rest;
        h += y * (y / 2 + c);
        out[i] = rounded;
    }
    norm2 = warp_sum(norm2);
    rest2 = warp_sum(rest2);
    h = warp_sum(h);
    // One that is nobody's neighbour, or that every query has to look at, or whose vector fp16 does not hold.
    const bool covered = fabsf(before) < infinity(), holds = covered && isfinite(rest2);
    if (!holds) {
        __syncwarp();
        for (std::int64_t i = lane; i < view.width; i += 32) out[i] = __half{};
        if (lane == 0) *half_norm = covered ? -infinity() : before;
        return;
    }
    if (lane != 0) return;
    *half_norm = __double2float_rd(h);
    const auto bits = [](double x) { return __float_as_uint(__double2float_ru(x * bound_slack)); };
    atomicMax(&relative.bounds[cluster].size, bits(sqrt(norm2)));
    atomicMax(&relative.bounds[cluster].rest, bits(sqrt(rest2)));
    atomicMax(&relative.bounds[cluster].half_norm, bits(fabs(h)));
}

// ---- queries

// A warp owns a query.
__global__ void queries_kernel(ExactQueries queries, FilterForm form, const double* coordinates, std::int64_t first,
                               std::int64_t count, std::int64_t d, const __half* vectors) {
    const std::int64_t own = own_item() / 32, query = first + own;
    if (own >= count) return;
    const ExactRow row(form, coordinates + own * d, d);
    double norm2 = 0, rest2 = 0;
    for (std::int64_t i = threadIdx.x % 32; i < form.width; i += 32) {
        const double u = row.at(i), rest = u - static_cast<double>(__half2float(vectors[query * form.width + i]));
        norm2 += u * u;
        rest2 += rest * rest;
        queries.coordinates[i * queries.q + query] = u;
    }
    norm2 = warp_sum(norm2);
    rest2 = warp_sum(rest2);
    if (threadIdx.x % 32 != 0) return;
    queries.half_square[query] = norm2 / 2;
    queries.rest[query] = sqrt(rest2);
}

__global__ void served_kernel(ExactQueries queries, const float* coarse, const float* error, const std::uint8_t* unfit,
                              float* out) {
    const std::int64_t i = own_item();
    if (i >= queries.q) return;
    const auto t = static_cast<double>(coarse[i]), e = static_cast<double>(error[i]);
    const double square = queries.half_square[i], served = t - e + square - 2 * image_slack * (fabs(t) + e + square);
    out[i] = unfit[i] == fit && isfinite(served) ? __double2float_rd(served) : -infinity();
}

__global__ void unserved_kernel(ExactQueries queries, const float* error, float* threshold) {
    const std::int64_t i = own_item();
    if (i >= queries.q || !(fabsf(threshold[i]) < infinity())) return;
    const KeyImage image{
        .scale = 1, .offset = -queries.half_square[i], .error = static_cast<double>(error[i]), .growth = 1};
    threshold[i] = fminf(__double2float_ru(excluded_above(image, static_cast<double>(threshold[i]))), largest);
}

// A warp owns a list.
__global__ void rows_kernel(CandidateLists lists, FilterForm form, std::int64_t n, std::uint32_t* rows,
                            std::int32_t* counts) {
    const std::int64_t query = own_item() / 32;
    if (query >= lists.q) return;
    const auto count = static_cast<std::int32_t>(min(std::int64_t{lists.counts[query]}, lists.capacity));
    const std::int64_t list = query * lists.capacity;
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x % 32); i < count; i += 32)
        rows[list + i] = static_cast<std::uint32_t>(row_at(form, lists.candidates[list + i].point, n));
    if (threadIdx.x % 32 == 0) counts[query] = count;
}

__global__ void values_kernel(CandidateLists lists, const std::uint64_t* keys, const std::int32_t* counts,
                              double factor) {
    const std::int64_t query = own_item() / 32;
    if (query >= lists.q) return;
    const std::int64_t list = query * lists.capacity;
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x % 32); i < counts[query]; i += 32) {
        const std::uint64_t key = keys[list + i];
        lists.candidates[list + i].a = key == exact::Order<double>::nan
                                           ? infinity()
                                           : __double2float_ru(exact::Order<double>::value(key) * factor);
    }
}

// ---- the pass

constexpr int list_threads = 1024;

// A block owns a group.
__global__ void __launch_bounds__(list_threads)
    list_kernel(ClusterView view, RelativeView relative, const std::uint8_t* flags, RelativeLists lists) {
    __shared__ std::uint32_t sums[list_threads / 32];
    const std::int64_t group = blockIdx.x;
    std::uint32_t clusters = 0, tiles = 0;
    for (std::int64_t first = 0; first < view.count; first += list_threads) {
        const std::int64_t c = first + threadIdx.x;
        const bool active = c < view.count && flags[group * view.count + c];
        const std::uint32_t begin = active ? relative.tile_begin[c] : 0,
                            own = active ? relative.tile_begin[c + 1] - begin : 0;
        std::uint32_t active_total = 0, tile_total = 0;
        const std::uint32_t place = block_prefix<list_threads>(active ? 1u : 0u, sums, active_total);
        const std::uint32_t tile = block_prefix<list_threads>(own, sums, tile_total);
        if (active) lists.clusters[group * view.count + clusters + place] = static_cast<std::uint32_t>(c);
        for (std::uint32_t t = 0; t < own; ++t) lists.tiles[group * relative.most_tiles + tiles + tile + t] = begin + t;
        clusters += active_total;
        tiles += tile_total;
    }
    if (threadIdx.x > 0) return;
    lists.cluster_counts[group] = clusters;
    lists.tile_counts[group] = tiles;
}

constexpr int threshold_threads = static_cast<int>(listed_queries), together = 8;

// What of a query and of a cluster's points a value may lose.
struct Lost {
    double size = 0, rest = 0, norm = 0, half_norm = 0;  // norm: of the vectors that are relative to nothing
};

__device__ double lost_by(const FilterForm& form, const Lost& u, const Lost& y) {
    const double rounded = u.size * y.rest + u.rest * y.size + u.rest * y.rest;
    const double sizes = (u.size + u.rest + smallest_normal) * (y.size + y.rest + smallest_normal);
    double lost =
        rounded + form.gamma * (y.half_norm + sizes) + 2 * canonical_slack * (u.norm * u.norm + y.norm * y.norm);
    if (form.unit) lost += 4 * canonical_slack * form.scale * form.scale;
    return lost * bound_slack + underflow_slack;
}

// A block owns a group and some of its clusters, a thread a query.
__global__ void __launch_bounds__(threshold_threads)
    thresholds_kernel(ClusterView view, RelativeView relative, FilterForm form, ExactQueries queries,
                      const float* threshold, std::int64_t first, std::int64_t count, RelativeLists lists) {
    extern __shared__ double centres[];  // coordinate i of centre m at [i * together + m]
    __shared__ double centre_squares[together];
    const std::int64_t group = blockIdx.x, at = static_cast<std::int64_t>(blockIdx.y) * together;
    const auto active = static_cast<std::int64_t>(lists.cluster_counts[group]);
    if (at >= active) return;
    const int here = static_cast<int>(min(std::int64_t{together}, active - at)), width = static_cast<int>(view.width);
    const std::uint32_t* const clusters = lists.clusters + group * view.count + at;
    for (int i = static_cast<int>(threadIdx.x); i < together * width; i += threshold_threads) {
        const int m = i / width, j = i % width;
        const auto* const centre = static_cast<const __half*>(view.centres);
        centres[j * together + m] =
            m < here ? static_cast<double>(__half2float(centre[clusters[m] * view.width + j])) : 0.0;
    }
    __syncthreads();
    if (threadIdx.x < together) {
        double square = 0;
        for (int j = 0; j < width; ++j) {
            const double c = centres[j * together + static_cast<int>(threadIdx.x)];
            square += c * c;
        }
        centre_squares[threadIdx.x] = square;
    }
    const std::int64_t own = group * listed_queries + threadIdx.x, query = first + min(own, count - 1);
    double product[together] = {};
#pragma unroll 4
    for (int j = 0; j < width; ++j) {
        const double u = queries.coordinates[j * queries.q + query];
#pragma unroll
        for (int m = 0; m < together; ++m) product[m] = fma(u, centres[j * together + m], product[m]);
    }
    __syncthreads();
    const float t = threshold[query];
    const bool any = own < count && t >= -largest;
    const double half_square = queries.half_square[query], norm = sqrt(2 * half_square),
                 most = static_cast<double>(t) + 2 * image_slack * fabs(static_cast<double>(t));
    const Lost u{norm, queries.rest[query], norm, 0};
#pragma unroll
    for (int m = 0; m < together; ++m) {
        if (m >= here) break;
        const std::uint32_t cluster = clusters[m];
        const RelativeBound bound = relative.bounds[cluster];
        const auto of_bits = [](std::uint32_t bits) { return static_cast<double>(__uint_as_float(bits)); };
        const double size = of_bits(bound.size);
        const Lost y{size, of_bits(bound.rest), size + sqrt(centre_squares[m]), of_bits(bound.half_norm)};
        const double apart = half_square + centre_squares[m] / 2 - product[m];
        const float value = fminf(__double2float_ru(most - apart + lost_by(form, u, y)), largest);
        lists.thresholds[(group * view.count + cluster) * listed_queries + threadIdx.x] =
            any ? value : __int_as_float(0x7fffffff);
    }
}

}  // namespace

void row_positions(const FilterForm& form, std::int64_t n, std::uint32_t* position, cudaStream_t stream) {
    positions_kernel<<<item_blocks(n), item_threads, 0, stream>>>(form, n, position);
    check_launch("row_positions");
}

void relative_tiles(const ClusterView& view, const RelativeView& relative, std::int64_t points, cudaStream_t stream) {
    tile_counts_kernel<<<item_blocks(view.count), item_threads, 0, stream>>>(view, relative);
    check_launch("relative_tiles");
    begins_of_counts(relative.tile_begin, view.count, stream);
    tiles_kernel<<<item_blocks(view.count), item_threads, 0, stream>>>(view, relative);
    const std::int64_t norms = relative.most_tiles * filter_tile_points;
    fill_kernel<<<item_blocks(norms), item_threads, 0, stream>>>(relative.half_norm, norms,
                                                                 std::numeric_limits<float>::infinity());
    check_launch("relative_tiles");
    const std::int64_t row_bytes = view.width * 2;
    check(cudaMemsetAsync(static_cast<char*>(relative.vectors) + points * row_bytes, 0,
                          static_cast<std::size_t>(filter_tile_points * row_bytes), stream),
          "cudaMemset");
}

void relative_points(const ClusterView& view, const RelativeView& relative, const FilterForm& form,
                     const RelativeRows& rows, cudaStream_t stream) {
    points_kernel<<<blocks_for(rows.count, item_warps), item_threads, 0, stream>>>(view, relative, form, rows);
    check_launch("relative_points");
}

void exact_queries(const ExactQueries& queries, const FilterForm& form, const double* coordinates, std::int64_t first,
                   std::int64_t count, std::int64_t d, const void* vectors, cudaStream_t stream) {
    queries_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(queries, form, coordinates, first, count,
                                                                               d, static_cast<const __half*>(vectors));
    check_launch("exact_queries");
}

void served_thresholds(const ExactQueries& queries, const float* coarse, const float* error, const std::uint8_t* unfit,
                       float* out, cudaStream_t stream) {
    served_kernel<<<item_blocks(queries.q), item_threads, 0, stream>>>(queries, coarse, error, unfit, out);
    check_launch("served_thresholds");
}

void unserved_thresholds(const ExactQueries& queries, const float* error, float* threshold, cudaStream_t stream) {
    unserved_kernel<<<item_blocks(queries.q), item_threads, 0, stream>>>(queries, error, threshold);
    check_launch("unserved_thresholds");
}

void entry_rows(const CandidateLists& lists, const FilterForm& form, std::int64_t n, std::uint32_t* rows,
                std::int32_t* counts, cudaStream_t stream) {
    rows_kernel<<<blocks_for(lists.q, item_warps), item_threads, 0, stream>>>(lists, form, n, rows, counts);
    check_launch("entry_rows");
}

void set_values(const CandidateLists& lists, const std::uint64_t* keys, const std::int32_t* counts, double factor,
                cudaStream_t stream) {
    values_kernel<<<blocks_for(lists.q, item_warps), item_threads, 0, stream>>>(lists, keys, counts, factor);
    check_launch("set_values");
}

void list_relative(const ClusterView& view, const RelativeView& relative, const std::uint8_t* flags,
                   std::int64_t groups, const RelativeLists& lists, cudaStream_t stream) {
    list_kernel<<<static_cast<unsigned>(groups), list_threads, 0, stream>>>(view, relative, flags, lists);
    check_launch("list_relative");
}

void relative_thresholds(const ClusterView& view, const RelativeView& relative, const FilterForm& form,
                         const ExactQueries& queries, const float* threshold, std::int64_t first, std::int64_t count,
                         const RelativeLists& lists, cudaStream_t stream) {
    const dim3 grid(blocks_for(count, listed_queries), blocks_for(view.count, together));
    const std::size_t bytes = static_cast<std::size_t>(together * view.width) * sizeof(double);
    thresholds_kernel<<<grid, threshold_threads, bytes, stream>>>(view, relative, form, queries, threshold, first,
                                                                  count, lists);
    check_launch("relative_thresholds");
}

}  // namespace kith::gpu
