// See by_bytes.h.
#include "gpu/search/by_bytes.h"

#include <algorithm>

#include "gpu/points/projection.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/search/deliver.h"
#include "gpu/search/results.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

bool serves_by_bytes(const SearchContext& context) {
    const Chunk& chunk = context.points.resident;
    return context.points.streams && chunk.projected && context.plan.path == Path::gemm_i8 &&
           isa_of(context.plan) == FilterIsa::sm_90a && context.k < tuning::most_listed_k &&
           chunk.finer->by_passes.tries();
}

namespace {

QueryRange search_tiles(const SearchContext& context) {
    const Chunk& chunk = context.points.resident;
    InFlight work(context.stream);
    const std::int64_t queries = context.queries.rows, tile = std::min(context.plan.query_tile, queries), k = context.k;
    std::int64_t begin = queries, end = 0, left = 0;
    for (std::int64_t first = 0; first < queries; first += tile) {
        const std::int64_t count = std::min(tile, queries - first);
        const DeviceRows rows = load_queries(context, first, count);
        const Buffer<std::int64_t> self(context.graph ? count : 0, context.stream), ids(count * k, context.stream);
        if (context.graph) count_up(self.get(), count, first, context.stream);
        FilterOutcome found =
            filter_tile(chunk, {.filter = chunk.filter, .projected = chunk.projected.get(), .by_bytes = true},
                        context.points.metric, {rows.prepared(), self.get()}, k, context.plan, context.stream);
        const Lists lists{found.result.keys.get(), ids.get()};
        assign_rows(lists, found.result.keys.get(), found.result.ids.get(), 0, count, k, context.stream);
        deliver(context, lists, first, count);
        const Uncertain uncertain = uncertain_rows(found, context.report.candidates, context.stream);
        for (const std::int64_t row : uncertain.rows) {
            begin = std::min(begin, first + row);
            end = std::max(end, first + row + 1);
        }
        left += std::ssize(uncertain.rows);
        context.progress.add(static_cast<double>(count) * static_cast<double>(context.points.n));
        cancel_if_asked(context);
    }
    work.wait("search");
    chunk.finer->by_passes.queries.note(queries, left);
    if (left == 0) return {};
    // The queries of a graph are the points: their numbers say which of these each leaves out.
    return context.graph ? QueryRange{0, queries} : QueryRange{begin, end - begin};
}

}  // namespace

QueryRange search_by_bytes(const SearchContext& context) {
    const double candidates = context.report.candidates, done = context.progress.done();
    QueryRange left{0, context.queries.rows};
    try {
        left = search_tiles(context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        context.report.candidates = candidates;
        context.progress.add(done - context.progress.done());
        return left;
    }
    // Those count once they have been streamed.
    context.progress.add(-static_cast<double>(left.count) * static_cast<double>(context.points.n));
    return left;
}

}  // namespace kith::gpu
