// Thresholds from the clusters nearest to queries (relative.h). A warp owns a query, half of it a point at a time.
#include "gpu/filter/ball_bound.h"
#include "gpu/filter/relative.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr unsigned whole_warp = 0xffffffffu;
// Clusters that a query looks at, unless they hold too few points; those of one cluster of the points have adjacent
// centres, mostly.
constexpr std::int64_t some_clusters = 8;
// Lanes of a point, halves that one loads at a time, and how often it does: widths up to 256.
constexpr int lanes = 16, loaded = 8, parts = 2, slots = near_points / 32;

__device__ __forceinline__ float infinity() {
    return __int_as_float(0x7f800000);
}

// Of keys that the warp holds, `slots` a lane, the order-th smallest.
__device__ std::uint32_t smallest(const std::uint32_t (&keys)[slots], int order) {
    std::uint32_t out = 0;
    for (int bit = 31; bit >= 0; --bit) {
        const std::uint32_t probe = out | 1u << bit;
        int below = 0;
#pragma unroll
        for (int i = 0; i < slots; ++i) below += __popc(__ballot_sync(whole_warp, keys[i] < probe));
        if (below < order) out = probe;
    }
    return out;
}

__global__ void __launch_bounds__(item_threads)
    near_kernel(ClusterView view, RelativeView relative, ExactQueries queries, NearQueries near, int order) {
    extern __shared__ double coordinates[];  // of the block's queries
    __shared__ float values[item_warps][near_points];
    const int width = static_cast<int>(view.width), warp = static_cast<int>(threadIdx.x) / 32,
              lane = static_cast<int>(threadIdx.x) % 32, of_point = lane % lanes;
    const std::int64_t begin = blockIdx.x * static_cast<std::int64_t>(item_warps);
    for (int i = static_cast<int>(threadIdx.x); i < item_warps * width; i += item_threads) {
        const int query = i % item_warps, j = i / item_warps;
        const std::int64_t own = near.first + min(begin + query, near.count - 1);
        coordinates[query * width + j] = queries.coordinates[j * queries.q + own];
    }
    __syncthreads();
    if (begin + warp >= near.count) return;
    const std::int64_t query = near.first + begin + warp;
    const double* const u = coordinates + warp * width;
    const std::int64_t nearest = near.nearest[begin + warp];
    const RelativeBound of_nearest = relative.bounds[nearest];
    if (lane == 0) {
        const float size = __uint_as_float(of_nearest.size), most = __uint_as_float(of_nearest.half_norm),
                    norm = static_cast<float>(sqrt(2 * queries.half_square[query]));
        near.loss[query] = norm * __uint_as_float(of_nearest.rest) + static_cast<float>(queries.rest[query]) * size +
                           static_cast<float>(view.gamma) * (most + norm * size);
    }
    if (order == 0) return;
    int seen = 0;
    float rest = 0;
    for (std::int64_t i = 0; i < view.count && seen < (i < some_clusters ? near_points : order); ++i) {
        const std::int64_t c = (nearest + i) % view.count;
        const std::uint32_t first = view.begin[c];
        const int here = min(static_cast<int>(view.begin[c + 1] - first), near_points - seen);
        if (here == 0) continue;
        const auto* const centre = static_cast<const __half*>(view.centres) + c * width;
        const auto* const vectors = static_cast<const __half*>(relative.vectors) + std::int64_t{first} * width;
        const float* const half_norm =
            relative.half_norm + static_cast<std::int64_t>(relative.tile_begin[c]) * filter_tile_points;
        float w[parts][loaded];
#pragma unroll
        for (int part = 0; part < parts; ++part) {
#pragma unroll
            for (int j = 0; j < loaded; ++j) {
                const int at = (part * lanes + of_point) * loaded + j;
                w[part][j] =
                    at < width ? static_cast<float>(u[at] - static_cast<double>(__half2float(centre[at]))) : 0.0f;
            }
        }
#pragma unroll 4
        for (int at = 0; at < here; at += 2) {
            const int point = at + lane / lanes, read = min(point, here - 1);
            const auto* const row = reinterpret_cast<const uint4*>(vectors + static_cast<std::int64_t>(read) * width);
            float sum = 0;
#pragma unroll
            for (int part = 0; part < parts; ++part) {
                const int chunk = part * lanes + of_point;
                if (chunk * loaded >= width) continue;
                const uint4 halves = __ldg(row + chunk);
                const std::uint32_t pairs[] = {halves.x, halves.y, halves.z, halves.w};
#pragma unroll
                for (int j = 0; j < loaded / 2; ++j) {
                    __half2 pair;
                    memcpy(&pair, &pairs[j], sizeof(pair));
                    const float2 y = __half22float2(pair);
                    const float a = w[part][2 * j] - y.x, b = w[part][2 * j + 1] - y.y;
                    sum = fmaf(b, b, fmaf(a, a, sum));
                }
            }
#pragma unroll
            for (int apart = 1; apart < lanes; apart *= 2) sum += __shfl_xor_sync(whole_warp, sum, apart);
            // One that every query has to look at, or that is nobody's neighbour, has no vector.
            if (of_point == 0 && point < here)
                values[warp][seen + point] = fabsf(half_norm[point]) < infinity() ? sum : infinity();
        }
        seen += here;
        rest = fmaxf(rest, __uint_as_float(relative.bounds[c].rest));
    }
    __syncwarp();
    std::uint32_t keys[slots];
#pragma unroll
    for (int i = 0; i < slots; ++i)
        keys[i] = i * 32 + lane < seen ? __float_as_uint(values[warp][i * 32 + lane]) : 0xffffffffu;
    const std::uint32_t key = smallest(keys, order);
    if (lane != 0 || near.unfit[query] != fit || key >= __float_as_uint(infinity())) return;
    const double apart = sqrt(static_cast<double>(__uint_as_float(key))) + static_cast<double>(rest);
    const KeyImage image{.scale = 1,
                         .offset = -queries.half_square[query],
                         .error = static_cast<double>(near.error[query]),
                         .growth = 1};
    const float value = __double2float_ru(excluded_above(image, apart * apart / 2 * (1 + 0x1p-12)));
    near.threshold[query] = fminf(near.threshold[query], value);
}

}  // namespace

void near_thresholds(const ClusterView& view, const RelativeView& relative, const ExactQueries& queries,
                     const NearQueries& near, std::int64_t order, cudaStream_t stream) {
    const std::size_t bytes = static_cast<std::size_t>(item_warps * view.width) * sizeof(double);
    near_kernel<<<blocks_for(near.count, item_warps), item_threads, bytes, stream>>>(view, relative, queries, near,
                                                                                     static_cast<int>(order));
    check_launch("near_thresholds");
}

}  // namespace kith::gpu
