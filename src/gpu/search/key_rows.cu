// Distance keys to the caller's distances; see key_rows.h.
#include "gpu/search/key_rows.h"

#include "exact/request.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/search/deliver.h"

namespace kith::gpu {

namespace {

// Sets the values (q x n) of queries or points with a NaN coordinate to NaN: their keys mark
// missing neighbours.
template <class T>
__global__ void nan_values_kernel(KeyTile tile, T* values) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= tile.q * tile.n) return;
    if (tile.query_nan[i / tile.n] | tile.point_nan[i % tile.n])
        values[i] = static_cast<T>(bits_to_double(0x7ff8000000000000ULL));
}

template <class T>
void report(const DeviceMetric& metric, const KeyTile& tile, T* to, cudaStream_t stream) {
    const std::int64_t pairs = tile.q * tile.n;
    report_distances(metric, tile.keys, sizeof(T) == 8, to, pairs, stream);
    nan_values_kernel<<<item_blocks(pairs), item_threads, 0, stream>>>(tile, to);
    check_launch("nan_values");
}

// Dense rows to rows of the caller's.
void copy_rows(const char* from, const KeyTile& tile, const DistancesRequest& request,
               cudaStream_t stream) {
    constexpr std::int64_t most_pitch = 0x7fffffff;  // that a copy of rows takes
    const std::int64_t element = request.f64 ? 8 : 4, pitch = request.out.stride * element;
    const auto width = static_cast<std::size_t>(tile.n * element);
    char* const to = static_cast<char*>(request.out.data) + tile.first_query * pitch +
                     tile.first_point * element;
    if (pitch <= most_pitch) {
        check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(pitch), from, width, width,
                                static_cast<std::size_t>(tile.q), cudaMemcpyDefault, stream),
              "copy of the distances");
        return;
    }
    for (std::int64_t i = 0; i < tile.q; ++i)
        check(cudaMemcpyAsync(to + i * pitch, from + i * tile.n * element, width, cudaMemcpyDefault,
                              stream),
              "copy of the distances");
}

}  // namespace

void deliver_keys(const DeviceMetric& metric, const KeyTile& tile, const DistancesRequest& request,
                  char* values, cudaStream_t stream) {
    if (request.f64) report(metric, tile, reinterpret_cast<double*>(values), stream);
    else report(metric, tile, reinterpret_cast<float*>(values), stream);
    copy_rows(values, tile, request, stream);
}

}  // namespace kith::gpu
