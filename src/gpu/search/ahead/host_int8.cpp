// Strategy host-int8: the points are in host memory, their int8 form is on the device
// (points/listed_vectors.h).
#include <algorithm>
#include <vector>

#include "gpu/points/pca/projection.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/search/ahead/ahead.h"
#include "gpu/search/deliver.h"
#include "gpu/search/results.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// Once queries have been unlike the points too often, most calls do without.
bool takes(const SearchContext& context) {
    const bool serves = context.points.streams && context.points.resident.projected &&
                        context.plan.path == Path::gemm_i8 &&
                        isa_of(context.plan) == FilterIsa::sm_90a &&
                        context.k < tuning::most_listed_k;
    if (!serves || context.learned.by_passes.take_turn()) return serves;
    context.log.declined(Step::host_int8, "queries have been unlike the points too often");
    return false;
}

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

// The range left goes from the first query without a certificate to the last one, or to the end
// where memory runs out. Progress counts the queries outside of it as soon as they are certain, for
// a graph at the end.
QueryRange answer(const SearchContext& context) {
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
    context.report.certified += queries - range.count;
    return range;
}

// A pass over the bus takes as long for one query as for many: the points stream for those left.
Path behind(const Plan&) {
    return Path::gemm_f16;
}

}  // namespace

constinit const Ahead host_int8_ahead{
    .takes = takes,
    .answer = answer,
    .behind = behind,
    .reported = "gemm-i8",
    .left = "numbers of 8 bits leave queries without a certificate",
    .wish = "memory for all points in fp16, or points that stream from the start"};

}  // namespace kith::gpu
