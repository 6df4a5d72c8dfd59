// The full scan of a tile of queries: canonical distance keys of some points at a time, selected.
#include <algorithm>

#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/search/scan_keys.h"
#include "gpu/search/tile/tile_search.h"
#include "gpu/select/streaming/threshold_select.h"

namespace kith::gpu {

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries,
                     std::int64_t k, std::int64_t point_tile, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count;
    const std::int64_t tile = points_at_a_time(metric, q, n, point_tile);
    SelectState state(q, k, tile, 8, stream);
    scan_keys_of(chunk, metric, queries.rows, queries.self, tile, stream,
                 [&](const std::uint64_t* keys, std::int64_t first, std::int64_t count) {
                     scan_keys(state, keys, tile, count, first, stream);
                 });
    finish(state, stream);
    TileResult result{Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    sort_rows({reinterpret_cast<const std::uint64_t*>(state.keys.get()), state.ids.get(),
               state.counts.get(), state.slices, q, state.stride(), std::min(k, n)},
              {result.keys.get(), result.ids.get(), k}, stream);
    return result;
}

}  // namespace kith::gpu
