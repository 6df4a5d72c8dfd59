// What one search on one device shares between its steps, and queries on the device.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/primitives/gather.h"
#include "gpu/search/tile_search.h"

namespace kith::gpu {

// What one search shares between its steps.
struct SearchContext : SearchRequest {
    const Points& points;
    cudaStream_t stream;
    bool direct;  // results are made in the caller's memory, which is on this device
    // For each query what the most expensive of its chunks needed.
    enum Outcome : std::uint8_t { first_try, retried, scanned };
    std::vector<std::uint8_t>& outcomes;
    std::vector<exact::Cause>& causes;
    bool& shortened;  // whether any tile used the points' projection or clusters

    // Of a pass over points that stream: its queries, on the device, and the first of them. The bus
    // is the points': a copy of queries for each chunk would wait until the next one is there.
    MatrixView of_pass = {};
    std::int64_t pass_first = 0;

    void mark(std::int64_t query, Outcome outcome, exact::Cause cause) const {
        const auto at = static_cast<std::size_t>(query);
        outcomes[at] = std::max<std::uint8_t>(outcomes[at], outcome);
        causes[at] = std::max(causes[at], cause);
    }
    // To the report, at the end.
    void count_outcomes() const {
        const std::int64_t at_once = std::ranges::count(outcomes, std::uint8_t{first_try});
        report.certified += at_once;
        if (at_once == std::ssize(outcomes)) return;  // a small search's time, one by one
        exact::Fallbacks fallbacks;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i] == first_try) continue;
            ++(outcomes[i] == retried ? report.retried : report.scanned);
            fallbacks.add(causes[i], outcomes[i] == scanned);
        }
        fallbacks.describe(report);
    }
};

inline void cancel_if_asked(const SearchContext& context) {
    context.progress.poll("search");
    context.progress.throw_if_cancelled();
}

// What queries that are tried again may take of the plan's workspace for what outlives them.
inline double spare(const SearchContext& context) {
    return static_cast<double>(context.plan.workspace_bytes) / 2;
}

// Rows [first, first + count) of the queries; `measured` false: with room for what is measured of
// them.
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

// Queries gathered from a tile, with their auxiliary values and the ids that they leave out.
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
    // Queries [first, first + count) of these.
    QueryTile tile(std::int64_t first, std::int64_t count) const {
        return {rows.prepared(first, count), self.get() ? self.get() + first : nullptr};
    }
};

// Row i of `from` to row index[i] of the result, from which its query was gathered.
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
