// Kernels of clusters.h.
#include "gpu/filter/clusters.h"

#include <cub/block/block_reduce.cuh>

#include "gpu/filter/reach.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

__device__ __forceinline__ double warp_sum(double x) {
    for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(whole_warp, x, half);
    return x;
}

// A warp owns a vector.
__global__ void half_square_kernel(const __half* vectors, std::int64_t count, std::int64_t width,
                                   float* out) {
    const std::int64_t at = own_item() / 32;
    if (at >= whole_tiles(count)) return;
    const int lane = threadIdx.x % 32;
    double sum = 0;
    if (at < count)
        for (std::int64_t i = lane; i < width; i += 32) {
            const double x = static_cast<double>(__half2float(vectors[at * width + i]));
            sum += x * x;
        }
    sum = warp_sum(sum);
    if (lane == 0) out[at] = at < count ? static_cast<float>(sum / 2) : __int_as_float(0x7f800000);
}

// A warp owns a row.
__global__ void nearest_kernel(const float* values, std::int64_t ld, std::int64_t rows,
                               std::int64_t count, std::uint32_t* centres, float* least) {
    const std::int64_t row = own_item() / 32;
    if (row >= rows) return;
    const int lane = threadIdx.x % 32;
    float best = __int_as_float(0x7f800000);
    std::uint32_t which = 0;
    for (std::int64_t c = lane; c < count; c += 32) {
        const float x = values[row * ld + c];
        if (!(x < best)) continue;
        best = x;
        which = static_cast<std::uint32_t>(c);
    }
    for (int half = 16; half > 0; half /= 2) {
        const float other = __shfl_xor_sync(whole_warp, best, half);
        const std::uint32_t whose = __shfl_xor_sync(whole_warp, which, half);
        if (other < best || (other == best && whose < which)) {
            best = other;
            which = whose;
        }
    }
    if (lane != 0) return;
    if (centres) centres[row] = which;
    if (least) least[row] = best;
}

// A warp owns a row.
__global__ void count_near_kernel(const float* values, std::int64_t ld, std::int64_t rows,
                                  std::int64_t count, const float* least, const float* error,
                                  unsigned long long* total) {
    const std::int64_t row = own_item() / 32;
    if (row >= rows || !isfinite(error[row])) return;
    const int lane = threadIdx.x % 32;
    const float limit = least[row] + 4 * error[row];
    unsigned found = 0;
    for (std::int64_t i = lane; i < count; i += 32) found += values[row * ld + i] <= limit;
    found = __reduce_add_sync(whole_warp, found);
    if (lane == 0) atomicAdd(total, static_cast<unsigned long long>(found));
}

// A warp owns a row.
__global__ void near_earlier_kernel(const float* values, std::int64_t ld, std::int64_t first,
                                    std::int64_t rows, const float* half_square, float apart2,
                                    std::uint8_t* near) {
    const std::int64_t row = own_item() / 32;
    if (row >= rows) return;
    const int lane = threadIdx.x % 32;
    const float limit = apart2 / 2 - half_square[first + row];
    bool found = false;
    for (std::int64_t c = lane; c < first + row; c += 32) found |= values[row * ld + c] < limit;
    found = __any_sync(whole_warp, found);
    if (lane == 0) near[row] = found;
}

constexpr int bound_threads = 256, bound_warps = bound_threads / 32;

// A block owns a cluster, a warp a member at a time.
__global__ void __launch_bounds__(bound_threads)
    bound_kernel(ClusterView view, const __half* vectors, const float* half_norm,
                 const std::uint32_t* members, ClusterBound* out) {
    __shared__ double squares[bound_warps], longest[bound_warps], room[bound_warps];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::int64_t width = view.width;
    const __half* const centre = static_cast<const __half*>(view.centres) + blockIdx.x * width;
    double most_square = 0, most_norm = 0, most_room = 0;
    for (std::uint32_t i = view.begin[blockIdx.x] + static_cast<std::uint32_t>(warp);
         i < view.begin[blockIdx.x + 1]; i += bound_warps) {
        const std::int64_t at = view.first + members[i];
        double apart = 0, norm2 = 0;
        for (std::int64_t j = lane; j < width; j += 32) {
            const double x = static_cast<double>(__half2float(vectors[at * width + j])),
                         y = x - static_cast<double>(__half2float(centre[j]));
            apart += y * y;
            norm2 += x * x;
        }
        apart = warp_sum(apart);
        norm2 = warp_sum(norm2);
        const double h = static_cast<double>(half_norm[at]);
        // What is +inf or NaN passes no threshold; -inf is not covered and passes all.
        if (!(h < static_cast<double>(__int_as_float(0x7f800000)))) continue;
        most_square = fmax(most_square, apart);
        most_norm = fmax(most_norm, norm2);
        most_room = fmax(most_room, room_of_point(view.gamma, norm2, h));
    }
    if (lane == 0) {
        squares[warp] = most_square;
        longest[warp] = most_norm;
        room[warp] = most_room;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < bound_warps; ++w) {
        most_square = fmax(most_square, squares[w]);
        most_norm = fmax(most_norm, longest[w]);
        most_room = fmax(most_room, room[w]);
    }
    const double half_square = static_cast<double>(view.half_square[blockIdx.x]);
    out[blockIdx.x] = {
        .radius = sqrt(most_square) * (1 + 0x1p-40),
        .room = most_room + room_of_longest(view.gamma, most_norm),
        .error = 2 * view.gamma * half_square + accumulation(view.gamma, sqrt(2 * half_square))};
}

// Whether a query may have a candidate in a cluster, from its value with the centre.
__device__ __forceinline__ bool reaches(const QueryReach& query, const ClusterBound& bound,
                                        float value) {
    const double reach2 = query.room + bound.room;
    const double reach = bound.radius + root_above(fmax(reach2, 0.0));
    const double apart2 = query.nearest + 2 * static_cast<double>(value) - 2 * bound.error;
    return !(reach2 < 0) && !(apart2 > reach * reach * (1 + 0x1p-40));
}

constexpr int active_threads = static_cast<int>(listed_queries);

// A block owns a group of queries and as many clusters as it has threads, a thread a cluster.
__global__ void __launch_bounds__(active_threads)
    active_kernel(ClusterView view, ClusterQueries queries, std::uint8_t* flags) {
    __shared__ QueryReach reach[active_threads];
    const std::int64_t first = blockIdx.x * queries.group, own = first + threadIdx.x;
    const int here = static_cast<int>(min(queries.group, queries.q - first));
    if (threadIdx.x < here) {
        const __half* const u = static_cast<const __half*>(queries.vectors) + own * view.width;
        double norm2 = 0;
        for (std::int64_t j = 0; j < view.width; j += 2) {
            const float2 x = __half22float2(*reinterpret_cast<const __half2*>(u + j));
            norm2 += static_cast<double>(x.x) * static_cast<double>(x.x);
            norm2 += static_cast<double>(x.y) * static_cast<double>(x.y);
        }
        reach[threadIdx.x] = reach_of(view.gamma, norm2, queries.threshold[own]);
    }
    __syncthreads();
    const std::int64_t cluster =
        static_cast<std::int64_t>(blockIdx.y) * active_threads + threadIdx.x;
    if (cluster >= view.count) return;
    const ClusterBound bound = view.bounds[cluster];
    const float* const values = queries.values + first * queries.ld + cluster;
    bool active = false;
#pragma unroll 8
    for (int i = 0; i < here; ++i) active |= reaches(reach[i], bound, values[i * queries.ld]);
    flags[blockIdx.x * view.count + cluster] =
        active && view.begin[cluster] < view.begin[cluster + 1];
}

constexpr int others_threads = 256, others_queries = others_threads / 32;

// A block owns eight queries, a thread every 256th cluster.
__global__ void __launch_bounds__(others_threads)
    others_kernel(ClusterView view, ClusterQueries queries, const std::uint32_t* begin,
                  const std::uint32_t* own, std::uint8_t* reached) {
    __shared__ QueryReach reach[others_queries];
    __shared__ std::uint32_t left_out[others_queries];
    __shared__ unsigned any;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * others_queries;
    const int here = static_cast<int>(
                  min(static_cast<std::int64_t>(others_queries), queries.q - first)),
              lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) any = 0;
    if (warp < here) {
        const __half* const u =
            static_cast<const __half*>(queries.vectors) + (first + warp) * view.width;
        double norm2 = 0;
        for (std::int64_t j = lane; j < view.width; j += 32) {
            const double x = static_cast<double>(__half2float(u[j]));
            norm2 += x * x;
        }
        norm2 = warp_sum(norm2);
        if (lane == 0) {
            reach[warp] = reach_of(view.gamma, norm2, queries.threshold[first + warp]);
            left_out[warp] = own[first + warp];
        }
    }
    __syncthreads();
    unsigned found = 0;
#pragma unroll 2
    for (std::int64_t c = threadIdx.x; c < view.count; c += others_threads) {
        const ClusterBound bound = view.bounds[c];
        const bool empty = begin[c] == begin[c + 1];
        // All loads before anything depends on one.
        float values[others_queries];
#pragma unroll
        for (int i = 0; i < others_queries; ++i)
            values[i] = queries.values[(first + min(i, here - 1)) * queries.ld + c];
        unsigned own_found = 0;
#pragma unroll
        for (int i = 0; i < others_queries; ++i)
            own_found |=
                static_cast<unsigned>(left_out[i] != c && reaches(reach[i], bound, values[i])) << i;
        if (!empty) found |= own_found;
    }
    found = __reduce_or_sync(whole_warp, found);
    if (lane == 0 && found) atomicOr(&any, found);
    __syncthreads();
    if (threadIdx.x < here) reached[first + threadIdx.x] = any >> threadIdx.x & 1;
}

// A block owns a group.
__global__ void __launch_bounds__(item_threads)
    total_kernel(ClusterView view, const std::uint8_t* flags, unsigned long long* total) {
    using Reduce = cub::BlockReduce<unsigned long long, item_threads>;
    __shared__ typename Reduce::TempStorage storage;
    unsigned long long own = 0;
    int active = 0;
    for (std::int64_t c = threadIdx.x; c < view.count; c += item_threads)
        if (flags[blockIdx.x * view.count + c]) {
            own += view.begin[c + 1] - view.begin[c];
            ++active;
        }
    const unsigned long long sum = Reduce(storage).Sum(own);
    const int several = __syncthreads_count(active > 1), some = __syncthreads_count(active > 0);
    if (threadIdx.x > 0) return;
    atomicAdd(&total[0], sum);
    if (several == 0 && some <= 1) atomicAdd(&total[1], 1ull);
}

constexpr int list_threads = 1024;

// A block owns a group; a bit for each tile in shared memory.
__global__ void __launch_bounds__(list_threads)
    list_kernel(ClusterView view, const std::uint8_t* flags, std::int64_t first, int tiles,
                std::uint32_t* out, std::uint32_t* counts) {
    extern __shared__ std::uint32_t bits[];
    __shared__ std::uint32_t sums[list_threads / 32];
    const int words = (tiles + 31) / 32;
    for (int w = threadIdx.x; w < words; w += list_threads) bits[w] = 0;
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < view.count; c += list_threads) {
        if (!flags[blockIdx.x * view.count + c]) continue;
        const std::int64_t begin = max(view.first + view.begin[c], first),
                           end = view.first + view.begin[c + 1];
        for (std::int64_t tile = (begin - first) / filter_tile_points;
             tile * filter_tile_points + first < end; ++tile)
            if (tile < tiles) atomicOr(&bits[tile / 32], 1u << tile % 32);
    }
    __syncthreads();
    std::uint32_t* const list = out + blockIdx.x * static_cast<std::int64_t>(tiles);
    std::uint32_t before = 0;
    for (int at = 0; at < words; at += list_threads) {
        const int w = at + static_cast<int>(threadIdx.x);
        std::uint32_t own = w < words ? bits[w] : 0, total = 0;
        std::uint32_t place = before + block_prefix<list_threads>(
                                           static_cast<std::uint32_t>(__popc(own)), sums, total);
        for (; own; own &= own - 1)
            list[place++] = static_cast<std::uint32_t>(w * 32 + __ffs(static_cast<int>(own)) - 1);
        before += total;
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = before;
}

}  // namespace

void half_squares(const void* vectors, std::int64_t count, std::int64_t width, float* out,
                  cudaStream_t stream) {
    half_square_kernel<<<blocks_for(whole_tiles(count), item_warps), item_threads, 0, stream>>>(
        static_cast<const __half*>(vectors), count, width, out);
    check_launch("half_squares");
}

void centre_values(const ClusterView& view, const void* vectors, std::int64_t count, FilterIsa isa,
                   float* out, cudaStream_t stream) {
    FilterPass pass;
    pass.queries = vectors;
    pass.points = view.centres;
    pass.half_norm = view.half_square;
    pass.q = count;
    pass.n = pass.count = view.count;
    pass.width = view.width;
    pass.all = out;
    pass.ld = whole_tiles(view.count);
    filter_pass(pass, isa, stream);
}

void nearest_centres(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                     std::uint32_t* centres, float* least, cudaStream_t stream) {
    nearest_kernel<<<blocks_for(rows, item_warps), item_threads, 0, stream>>>(
        values, ld, rows, count, centres, least);
    check_launch("nearest_centres");
}

void count_near(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                const float* least, const float* error, unsigned long long* total,
                cudaStream_t stream) {
    count_near_kernel<<<blocks_for(rows, item_warps), item_threads, 0, stream>>>(
        values, ld, rows, count, least, error, total);
    check_launch("count_near");
}

void near_earlier(const float* values, std::int64_t ld, std::int64_t first, std::int64_t rows,
                  const float* half_square, float apart2, std::uint8_t* near, cudaStream_t stream) {
    near_earlier_kernel<<<blocks_for(rows, item_warps), item_threads, 0, stream>>>(
        values, ld, first, rows, half_square, apart2, near);
    check_launch("near_earlier");
}

void bound_clusters(const ClusterView& view, const void* vectors, const float* half_norm,
                    const std::uint32_t* members, ClusterBound* out, cudaStream_t stream) {
    bound_kernel<<<static_cast<unsigned>(view.count), bound_threads, 0, stream>>>(
        view, static_cast<const __half*>(vectors), half_norm, members, out);
    check_launch("bound_clusters");
}

void active_clusters(const ClusterView& view, const ClusterQueries& queries, std::uint8_t* flags,
                     cudaStream_t stream) {
    const dim3 grid(blocks_for(queries.q, queries.group), blocks_for(view.count, active_threads));
    active_kernel<<<grid, active_threads, 0, stream>>>(view, queries, flags);
    check_launch("active_clusters");
}

void other_clusters(const ClusterView& view, const ClusterQueries& queries,
                    const std::uint32_t* begin, const std::uint32_t* own, std::uint8_t* reached,
                    cudaStream_t stream) {
    others_kernel<<<blocks_for(queries.q, others_queries), others_threads, 0, stream>>>(
        view, queries, begin, own, reached);
    check_launch("other_clusters");
}

void count_active(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                  unsigned long long* total, cudaStream_t stream) {
    check(cudaMemsetAsync(total, 0, 2 * sizeof *total, stream), "cudaMemset");
    total_kernel<<<static_cast<unsigned>(groups), item_threads, 0, stream>>>(view, flags, total);
    check_launch("count_active");
}

void list_tiles(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                std::int64_t first, std::int64_t tiles, std::uint32_t* out, std::uint32_t* counts,
                cudaStream_t stream) {
    const std::size_t bytes = static_cast<std::size_t>((tiles + 31) / 32) * sizeof(std::uint32_t);
    list_kernel<<<static_cast<unsigned>(groups), list_threads, bytes, stream>>>(
        view, flags, first, static_cast<int>(tiles), out, counts);
    check_launch("list_tiles");
}

}  // namespace kith::gpu
