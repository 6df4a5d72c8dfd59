// The state that the steps of one search on one device share, and queries on the device.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/primitives/gather.h"
#include "gpu/search/attempts.h"
#include "gpu/search/tile/tile_search.h"

namespace kith::gpu {

// The request, its points, and where the search stands.
struct SearchContext : SearchRequest {
    const Points& points;
    cudaStream_t stream;
    bool direct;  // the kernels write results to the caller's memory, which is on this device
    AttemptLog& log;
    Learned& learned;
    std::int64_t late_before = 0;  // late_bytes() when the call began

    // While points stream: the queries of a pass over them, on the device, and the number of the
    // first. Copying queries for each chunk would delay the next chunk on the bus.
    MatrixView of_pass = {};
    std::int64_t pass_first = 0;
};

inline void cancel_if_asked(const SearchContext& context) {
    context.progress.poll("search");
    context.progress.throw_if_cancelled();
}

// The bytes of the plan's workspace that forms of the points may still take which are made for
// queries without a certificate.
inline double spare(const SearchContext& context) {
    const std::int64_t made = context.points.resident.late->bytes() - context.late_before;
    return static_cast<double>(context.plan.workspace_bytes) / 2 - static_cast<double>(made);
}

// Rows [first, first + count) of the queries. `measured` false: room for auxiliary values and NaN
// flags, not these.
inline DeviceRows load_queries(const SearchContext& context, std::int64_t first, std::int64_t count,
                               bool measured = true) {
    DeviceRows rows =
        context.of_pass.data
            ? upload(context.of_pass, first - context.pass_first, count, false, context.stream)
            : upload(context.queries, first, count, false, context.stream);
    if (measured) measure(rows, context.points.metric, context.stream);
    else reserve_measures(rows, context.points.metric, context.stream);
    return rows;
}

// Queries gathered from a tile, with their auxiliary values and the ids that each leaves out.
struct GatheredQueries {
    DeviceRows rows;
    Buffer<std::int64_t> index, self;

    GatheredQueries(const SearchContext& context, const Rows& from, Buffer<std::int64_t> which,
                    const std::int64_t* all_self)
        : index(std::move(which)), self(all_self ? index.size() : 0, context.stream) {
        const std::int64_t count = index.size(), d = context.points.d;
        if (all_self) gather_ids(all_self, index.get(), count, self.get(), context.stream);
        rows.elements =
            Buffer<char>(count * d * static_cast<std::int64_t>(size_of(from.type)), context.stream);
        gather_rows(from, index.get(), count, d, rows.elements.get(), context.stream);
        rows.rows = {rows.elements.get(), count, d, 1, from.type};
        measure(rows, context.points.metric, context.stream);
    }
    // The gathered queries [first, first + count).
    QueryTile tile(std::int64_t first, std::int64_t count) const {
        return {rows.prepared(first, count), self.get() ? self.get() + first : nullptr};
    }
};

// Copies row i of `from` to row index[i] of the result, from which its query was gathered.
inline void scatter_result(const SearchContext& context, const TileResult& from,
                           const std::int64_t* index, std::int64_t count,
                           const TileResult& result) {
    const auto scatter = [&]<class T>(const Buffer<T>& rows, const Buffer<T>& out) {
        scatter_dense(rows.get(), index, count, context.k * static_cast<std::int64_t>(sizeof(T)),
                      out.get(), context.stream);
    };
    scatter(from.keys, result.keys);
    scatter(from.ids, result.ids);
}

}  // namespace kith::gpu
