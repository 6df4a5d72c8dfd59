// See by_bytes.h.
#include "gpu/search/by_bytes.h"

#include <algorithm>
#include <vector>

#include "gpu/points/pca/projection.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/search/deliver.h"
#include "gpu/search/results.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

bool serves_by_bytes(const SearchContext& context) {
    return context.points.streams && context.points.resident.projected &&
           context.plan.path == Path::gemm_i8 && isa_of(context.plan) == FilterIsa::sm_90a &&
           context.k < tuning::most_listed_k;
}

namespace {

// Delivers the neighbours of a tile of queries. Returns those that have no certificate.
LeftQueries search_tile(const SearchContext& context, std::int64_t first, std::int64_t count) {
    const Chunk& chunk = context.points.resident;
    const std::int64_t k = context.k;
    const DeviceRows rows = load_queries(context, first, count);
    const Buffer<std::int64_t> self(context.graph ? count : 0, context.stream),
        ids(count * k, context.stream);
    if (context.graph) count_up(self.get(), count, first, context.stream);
    FilterOutcome found =
        filter_tile(context, chunk,
                    {.filter = chunk.filter, .projected = chunk.projected.get(), .by_bytes = true},
                    {rows.prepared(), self.get()});
    const Lists lists{found.result.keys.get(), ids.get()};
    assign_rows(lists, found.result.keys.get(), found.result.ids.get(), 0, count, k,
                context.stream);
    deliver(context, lists, first, count);
    return left_by(found, context.report.candidates, context.stream);
}

}  // namespace

QueryRange search_by_bytes(const SearchContext& context) {
    const std::int64_t queries = context.queries.rows,
                       tile = std::min(context.plan.query_tile, queries);
    std::int64_t searched = 0, begin = queries, end = 0, left = 0, reported = 0;
    const auto report = [&](std::int64_t certain) {
        context.progress.add(static_cast<double>(certain - reported) *
                             static_cast<double>(context.points.n));
        reported = certain;
    };
    InFlight work(context.stream);
    try {
        while (searched < queries) {
            const std::int64_t count = std::min(tile, queries - searched);
            for (const LeftQuery& query : search_tile(context, searched, count)) {
                begin = std::min(begin, searched + query.row);
                end = std::max(end, searched + query.row + 1);
                ++left;
            }
            searched += count;
            if (!context.graph) report(std::min(searched, begin));
            cancel_if_asked(context);
        }
        context.learned.by_passes.note(queries, left);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory || context.progress.cancelled()) throw;
        begin = std::min(begin, searched);
        end = queries;
    }
    work.wait("search");
    // A graph's query leaves out the point of its number, so its queries cannot be searched as a
    // range of their own.
    const QueryRange range = begin >= end    ? QueryRange{}
                             : context.graph ? QueryRange{0, queries}
                                             : QueryRange{begin, end - begin};
    report(queries - range.count);
    context.log.took(Step::host_int8, 0, queries);
    context.log.left(Step::host_int8, exact::Cause::full_list, range.count);
    context.log.lap(Step::host_int8);
    return range;
}

}  // namespace kith::gpu
