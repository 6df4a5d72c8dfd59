// A tile of queries against a chunk of points within a radius: ranges of the points through a
// filter whose thresholds the radius gives, or the full scan; and what they have found.
#pragma once

#include <vector>

#include "gpu/search/context.h"
#include "gpu/search/radius_entries.h"
#include "gpu/search/radius_rows.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// Some queries of a tile, on the device.
struct BallQueries {
    PreparedRows rows;
    const std::int64_t* self = nullptr;  // per query: the row of the chunk to leave out, or null
    const std::int64_t* tile_rows =
        nullptr;  // per query: which of the tile it is; null: from `first_row` on
    std::int64_t first_row = 0;
    Balls balls;

    std::int64_t count() const { return rows.rows.count; }
    BallQueries part(std::int64_t first, std::int64_t count) const {
        return {slice(rows, first, count), self ? self + first : nullptr,
                tile_rows ? tile_rows + first : nullptr, first_row + first, balls.part(first)};
    }
};

// The bounds of some queries of a request, on the device. `numbers`: which, or null: from `first`
// on.
struct DeviceBalls {
    Buffer<double> values;  // inner, outer, radii
    Balls balls;
    DeviceBalls(const RadiusRequest& request, bool similarity, std::int64_t first,
                std::int64_t count, const std::int64_t* numbers, cudaStream_t stream);
};

// What a tile has found: of each query how many, and unless they are counted which.
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
    // What the parts point into.
    std::vector<Buffer<std::uint8_t>> states;
    std::vector<GatheredQueries> gathered;
};

// Thrown where a tile of more than one query finds more than there is room for: about so many
// queries would do.
struct TooManyWithin {
    std::int64_t queries;
};

// Through a filter. Returns the state (BallState) of each query; what was found of those that are
// left is left out.
std::vector<std::uint8_t> filter_within(const SearchContext& context, const Chunk& chunk,
                                        const FilterVectors& filter, const BallQueries& queries,
                                        RadiusFound& found);
// In binary64, some queries and points at a time.
void scan_within(const SearchContext& context, const Chunk& chunk, const BallQueries& queries,
                 std::int64_t query_tile, std::int64_t point_tile, RadiusFound& found);

}  // namespace kith::gpu
