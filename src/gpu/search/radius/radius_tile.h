// A tile of queries of a range search in one chunk of points: ranges of the points through a filter
// with fixed thresholds, or the full scan; and the results.
#pragma once

#include <vector>

#include "gpu/search/context.h"
#include "gpu/search/radius/radius_entries.h"
#include "gpu/search/radius/radius_rows.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// Some queries of a tile, on the device.
struct BallQueries {
    PreparedRows rows;
    const std::int64_t* self = nullptr;  // per query: the row of the chunk to leave out, or null
    const std::int64_t* tile_rows =
        nullptr;  // per query: its row in the tile; null: consecutive from first_row on
    std::int64_t first_row = 0;
    Balls balls;

    std::int64_t count() const { return rows.rows.count; }
    BallQueries part(std::int64_t first, std::int64_t count) const {
        return {slice(rows, first, count), self ? self + first : nullptr,
                tile_rows ? tile_rows + first : nullptr, first_row + first, balls.part(first)};
    }
};

// The bounds of some queries of a request, on the device. `numbers`: their numbers, or null:
// consecutive from `first` on.
struct DeviceBalls {
    Buffer<double> values;  // inner, outer, radii
    Balls balls;
    DeviceBalls(const RadiusRequest& request, bool similarity, std::int64_t first,
                std::int64_t count, const std::int64_t* numbers, cudaStream_t stream);
};

// The results of a tile: the totals of its queries and, unless counts are all that is asked for,
// the points within.
struct RadiusFound {
    RadiusFound(std::int64_t queries, bool counting, double bytes, cudaStream_t stream)
        : q(queries),
          counts_only(counting),
          workspace(bytes),
          most(tuning::radius_entries(bytes)),
          totals(queries, stream) {
        totals.clear_to(0);
    }
    std::int64_t q;
    bool counts_only;
    double workspace;          // bytes that the tile may take
    std::int64_t most;         // entries that there is room for
    std::int64_t entries = 0;  // in all parts
    Buffer<std::int64_t> totals;
    std::vector<RadiusPart> parts;
    // Memory that the parts point to.
    std::vector<Buffer<std::uint8_t>> states;
    std::vector<GatheredQueries> gathered;
};

// Thrown if a tile of more than one query finds more entries than there is room for. `queries`: the
// number of queries that should fit.
struct TooManyWithin {
    std::int64_t queries;
};

// Searches with a filter. Returns the state (BallState) of each query; drops the results of queries
// that are left. Waits.
std::vector<std::uint8_t> filter_within(const SearchContext& context, const Chunk& chunk,
                                        const FilterVectors& filter, const BallQueries& queries,
                                        RadiusFound& found);
// Searches in binary64, query_tile queries and point_tile points at a time.
void scan_within(const SearchContext& context, const Chunk& chunk, const BallQueries& queries,
                 std::int64_t query_tile, std::int64_t point_tile, RadiusFound& found);

}  // namespace kith::gpu
