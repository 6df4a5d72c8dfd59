// A search on one device: runs of queries through all chunks of points, results merged and delivered.
#include "gpu/search.h"

#include <algorithm>
#include <cmath>

#include "gpu/distance/user.h"
#include "gpu/results.h"
#include "gpu/stream.h"
#include "gpu/tuning.h"

namespace kith::gpu {

namespace {

// What one search shares between its steps.
struct Run {
    const Points& points;
    const MatrixView& queries;
    std::int64_t k;
    bool graph;
    const Plan& plan;
    bool f64;
    cudaStream_t stream;
    ProgressMeter& progress;
    const NeighborsView& out;
    Report& report;
};

// Rows [first, first + count) of the queries, measured.
DeviceRows load_queries(const Run& run, std::int64_t first, std::int64_t count) {
    DeviceRows rows = upload(run.queries, first, count, false, run.stream);
    measure(rows, run.points.metric, run.stream);
    return rows;
}

// Some of a tile's queries again: their rows, gathered.
struct Again {
    DeviceRows rows;
    Buffer<std::int64_t> index, self;

    Again(const Run& run, const DeviceRows& queries, const std::int64_t* all_self,
          const std::vector<std::int64_t>& which)
        : index(static_cast<std::int64_t>(which.size()), run.stream), self(all_self ? index.size() : 0, run.stream) {
        const std::int64_t count = index.size(), d = run.points.d;
        check(cudaMemcpyAsync(index.get(), which.data(), which.size() * sizeof(std::int64_t), cudaMemcpyDefault,
                              run.stream),
              "cudaMemcpy");
        if (all_self) gather_ids(all_self, index.get(), count, self.get(), run.stream);
        rows.elements = Buffer<char>(count * d * static_cast<std::int64_t>(size_of(queries.rows.type)), run.stream);
        gather_rows(queries.rows, index.get(), count, d, rows.elements.get(), run.stream);
        rows.rows = {rows.elements.get(), count, d, 1, queries.rows.type};
        measure(rows, run.points.metric, run.stream);
    }
    // Queries [first, first + count) of these.
    QueryTile tile(std::int64_t first, std::int64_t count) const {
        return {{slice(rows.rows, first, count), rows.aux.get() + first * metric::max_aux, rows.nan.get() + first},
                self.get() ? self.get() + first : nullptr};
    }
};

// Rows of `from` to the rows of the result that they stand for.
void put_rows(const Run& run, const TileResult& from, const Again& again, std::int64_t first, std::int64_t count,
              TileResult& result) {
    scatter_rows(result.keys.get(), result.ids.get(), from.keys.get(), from.ids.get(), again.index.get() + first, count,
                 run.k, run.stream);
}

// Queries whose limits have become certain go through the filter once more, with larger lists. Returns those that are
// left, in place of `failed`.
std::vector<std::int64_t> retry(const Run& run, const Chunk& chunk, const DeviceRows& queries, const std::int64_t* self,
                                const FilterOutcome& first_try, TileResult& result) {
    std::vector<std::int64_t> which, left;
    std::vector<float> limits;
    for (std::size_t i = 0; i < first_try.failed.size(); ++i) {
        const bool certain = std::isfinite(first_try.limits[i]);
        (certain ? which : left).push_back(first_try.failed[i]);
        if (certain) limits.push_back(first_try.limits[i]);
    }
    if (which.empty()) return left;
    const Again again(run, queries, self, which);
    const auto count = static_cast<std::int64_t>(which.size()), step = std::min(count, tuning::retry_queries);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        const FilterOutcome found = filter_tile(chunk, run.points.metric, again.tile(first, some), run.k, run.plan,
                                                limits.data() + first, run.stream);
        put_rows(run, found.result, again, first, some, result);
        for (const std::int64_t i : found.failed) left.push_back(which[static_cast<std::size_t>(first + i)]);
        run.report.candidates += found.candidates;
        run.report.retried += some - static_cast<std::int64_t>(found.failed.size());
    }
    std::sort(left.begin(), left.end());
    return left;
}

// The plain scan for queries without a certificate.
void scan(const Run& run, const Chunk& chunk, const DeviceRows& queries, const std::int64_t* self,
          const std::vector<std::int64_t>& which, TileResult& result) {
    const Again again(run, queries, self, which);
    const auto count = static_cast<std::int64_t>(which.size()), step = std::min(count, tuning::rescan_queries);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        const TileResult found = scan_tile(chunk, run.points.metric, again.tile(first, some), run.k,
                                           tuning::rescan_points(run.points.d), run.stream);
        put_rows(run, found, again, first, some, result);
    }
    check(cudaStreamSynchronize(run.stream), "scan of queries without a certificate");
    run.report.candidates += static_cast<double>(count) * static_cast<double>(chunk.points.rows.count);
    run.report.scanned += count;
}

// Neighbours of a run of queries in one chunk, into or merged with `lists`.
void search_chunk(const Run& run, const Chunk& chunk, const DeviceRows& queries, std::int64_t first_query, bool merge,
                  Lists lists, Lists scratch) {
    const std::int64_t q = queries.rows.count, k = run.k;
    Buffer<std::int64_t> self(run.graph ? q : 0, run.stream);
    // Relative to the chunk; an id outside of it leaves nothing out.
    if (run.graph) count_up(self.get(), q, first_query - chunk.first, run.stream);
    const QueryTile tile{queries.prepared(), run.graph ? self.get() : nullptr};
    TileResult result;
    if (run.plan.path == "exact") {
        result = scan_tile(chunk, run.points.metric, tile, k, run.plan.point_tile, run.stream);
        run.report.candidates += static_cast<double>(q) * static_cast<double>(chunk.points.rows.count);
        run.report.scanned += q;
    } else {
        FilterOutcome found = filter_tile(chunk, run.points.metric, tile, k, run.plan, nullptr, run.stream);
        result = std::move(found.result);
        run.report.candidates += found.candidates;
        run.report.certified += q - static_cast<std::int64_t>(found.failed.size());
        if (!found.failed.empty()) {
            const std::vector<std::int64_t> left = retry(run, chunk, queries, self.get(), found, result);
            if (!left.empty()) scan(run, chunk, queries, self.get(), left, result);
        }
    }
    if (merge) merge_rows(lists, result.keys.get(), result.ids.get(), chunk.first, q, k, scratch, run.stream);
    else place_rows(lists, result.keys.get(), result.ids.get(), chunk.first, q, k, run.stream);
    run.progress.add(static_cast<double>(q) * static_cast<double>(chunk.points.rows.count));
}

// Final lists of rows [first, first + count) to the caller's memory.
void deliver(const Run& run, Lists lists, std::int64_t first, std::int64_t count) {
    const std::int64_t cells = count * run.k;
    check(cudaMemcpyAsync(run.out.ids + first * run.k, lists.ids,
                          static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault, run.stream),
          "copy of the ids");
    if (!run.out.distances) return;
    const std::int64_t element = run.f64 ? 8 : 4;
    Buffer<char> values(cells * element, run.stream);
    const DeviceMetric& metric = run.points.metric;
    if (!metric.kernels) user_report(lists.keys, values.get(), run.f64, cells, run.stream);
    else if (run.f64)
        metric.kernels->report_f64(lists.keys, reinterpret_cast<double*>(values.get()), cells, metric.params,
                                   run.stream);
    else
        metric.kernels->report_f32(lists.keys, reinterpret_cast<float*>(values.get()), cells, metric.params,
                                   run.stream);
    check(cudaMemcpyAsync(static_cast<char*>(run.out.distances) + first * run.k * element, values.get(),
                          static_cast<std::size_t>(cells * element), cudaMemcpyDefault, run.stream),
          "copy of the distances");
}

void cancel_if_asked(const Run& run) {
    check(cudaStreamSynchronize(run.stream), "search");
    run.progress.poll("search");
    run.progress.throw_if_cancelled();
}

}  // namespace

void search(const Points& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan, bool f64,
            void* caller_stream, ProgressMeter& progress, const NeighborsView& out, Report& report) {
    const DeviceScope scope(points.device);
    const Run run{points,   queries, k,     graph, plan, f64, static_cast<cudaStream_t>(caller_stream),
                  progress, out,     report};
    const std::int64_t tile = std::min(plan.query_tile, queries.rows);
    // Where points stream, many tiles of queries share one pass over them, as many as their lists allow.
    const std::int64_t list_bytes = k * 32;
    const std::int64_t most =
        std::max<std::int64_t>(1, std::max(plan.workspace_bytes / 4, std::int64_t{16} << 20) / list_bytes / tile);
    const std::int64_t group = points.streams ? tile * most : tile;
    for (std::int64_t group_first = 0; group_first < queries.rows; group_first += group) {
        const std::int64_t group_count = std::min(group, queries.rows - group_first), cells = group_count * k;
        Buffer<std::uint64_t> keys(cells, run.stream), scratch_keys(points.streams ? tile * k : 0, run.stream);
        Buffer<std::int64_t> ids(cells, run.stream), scratch_ids(points.streams ? tile * k : 0, run.stream);
        const Lists scratch{scratch_keys.get(), scratch_ids.get()};
        const auto pass = [&](const Chunk& chunk, bool merge) {
            for (std::int64_t first = 0; first < group_count; first += tile) {
                const std::int64_t count = std::min(tile, group_count - first);
                const DeviceRows loaded = load_queries(run, group_first + first, count);
                search_chunk(run, chunk, loaded, group_first + first, merge,
                             {keys.get() + first * k, ids.get() + first * k}, scratch);
                cancel_if_asked(run);
            }
        };
        if (points.streams) {
            ChunkStream chunks(points, plan.chunk_points, plan.path, run.stream);
            bool merge = false;
            while (const Chunk* chunk = chunks.next()) {
                pass(*chunk, merge);
                merge = true;
            }
        } else {
            pass(points.resident, false);
        }
        deliver(run, {keys.get(), ids.get()}, group_first, group_count);
    }
    check(cudaStreamSynchronize(run.stream), "search");
    if (points.streams) {
        // Counted per chunk above; a query is certified when it was in every chunk.
        const std::int64_t chunks = (points.n + plan.chunk_points - 1) / plan.chunk_points;
        report.scanned = std::min(queries.rows, report.scanned);
        report.certified = chunks > 0 ? queries.rows - report.scanned : 0;
    }
}

}  // namespace kith::gpu
