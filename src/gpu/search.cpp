// A search on one device: runs of queries through all chunks of points, results merged and delivered.
#include "gpu/search.h"

#include <algorithm>
#include <cmath>

#include "gpu/distance/user.h"
#include "gpu/filter/lists.h"
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
    bool direct;  // results are made in the caller's memory, which is on this device
    // The dearest way that any chunk took for each query.
    enum Way : std::uint8_t { certified_at_once, certified_again, scanned };
    std::vector<std::uint8_t>& ways;

    void mark(std::int64_t query, Way way) const {
        std::uint8_t& own = ways[static_cast<std::size_t>(query)];
        own = std::max<std::uint8_t>(own, way);
    }
};

// Rows [first, first + count) of the queries, measured.
DeviceRows load_queries(const Run& run, std::int64_t first, std::int64_t count) {
    DeviceRows rows = upload(run.queries, first, count, false, run.stream);
    measure(rows, run.points.metric, run.stream);
    return rows;
}

// Rows gathered from others, with what is measured of them and the ids that they leave out.
struct Gathered {
    DeviceRows rows;
    Buffer<std::int64_t> index, self;

    Gathered(const Run& run, const Rows& from, Buffer<std::int64_t> which, const std::int64_t* all_self)
        : index(std::move(which)), self(all_self ? index.size() : 0, run.stream) {
        const std::int64_t count = index.size(), d = run.points.d;
        if (all_self) gather_ids(all_self, index.get(), count, self.get(), run.stream);
        rows.elements = Buffer<char>(count * d * static_cast<std::int64_t>(size_of(from.type)), run.stream);
        gather_rows(from, index.get(), count, d, rows.elements.get(), run.stream);
        rows.rows = {rows.elements.get(), count, d, 1, from.type};
        measure(rows, run.points.metric, run.stream);
    }
    // Queries [first, first + count) of these.
    QueryTile tile(std::int64_t first, std::int64_t count) const {
        return {{slice(rows.rows, first, count), rows.aux.get() + first * metric::max_aux, rows.nan.get() + first},
                self.get() ? self.get() + first : nullptr};
    }
};

// Rows of `from` to the rows of the result that they stand for.
void put_rows(const Run& run, const TileResult& from, const Gathered& again, std::int64_t first, std::int64_t count,
              TileResult& result) {
    scatter_rows(result.keys.get(), result.ids.get(), from.keys.get(), from.ids.get(), again.index.get() + first, count,
                 run.k, run.stream);
}

// Reads `values` as the stream comes to it.
Buffer<std::int64_t> on_device(const std::vector<std::int64_t>& values, cudaStream_t stream) {
    Buffer<std::int64_t> out(static_cast<std::int64_t>(values.size()), stream);
    check(cudaMemcpyAsync(out.get(), values.data(), values.size() * sizeof(std::int64_t), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    return out;
}

// Queries whose limits have become certain go through the filter once more, with larger lists. Returns those that are
// left.
std::vector<std::int64_t> retry(const Run& run, const Chunk& chunk, const DeviceRows& queries, const std::int64_t* self,
                                const Uncertain& uncertain, TileResult& result) {
    std::vector<std::int64_t> which, left;
    std::vector<float> limits;
    for (std::size_t i = 0; i < uncertain.rows.size(); ++i) {
        const bool certain = std::isfinite(uncertain.limits[i]);
        (certain ? which : left).push_back(uncertain.rows[i]);
        // A little wider: the values behind a limit may have been computed from the other side of a pair.
        if (certain) limits.push_back(uncertain.limits[i] + std::abs(uncertain.limits[i]) * 0x1p-20f);
    }
    if (which.empty()) return left;
    const InFlight reading(run.stream);
    const Gathered again(run, queries.rows, on_device(which, run.stream), self);
    const auto count = static_cast<std::int64_t>(which.size()),
               step = std::min(count, tuning::retry_step(static_cast<double>(run.plan.workspace_bytes)));
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        FilterOutcome found = filter_tile(chunk, chunk.filter, run.points.metric, again.tile(first, some), run.k,
                                          run.plan, limits.data() + first, run.stream);
        put_rows(run, found.result, again, first, some, result);
        for (const std::int64_t i : uncertain_rows(found, run.report.candidates, run.stream).rows)
            left.push_back(which[static_cast<std::size_t>(first + i)]);
    }
    std::sort(left.begin(), left.end());
    return left;
}

// Whether two terms of fp16 are worth their preparation for so many queries, and have room.
bool finer_pays(const Run& run, const Chunk& chunk, std::size_t queries) {
    const std::int64_t n = chunk.points.rows.count;
    const double bytes = 2.0 * static_cast<double>(filter_width(run.points.d, 2)) * static_cast<double>(n);
    return static_cast<std::int64_t>(queries) >= tuning::finer_queries &&
           bytes <= static_cast<double>(run.plan.workspace_bytes) / 2;
}

// Queries whose neighbours one term cannot tell apart go through the filter in two. Returns those that are left.
std::vector<std::int64_t> refilter(const Run& run, const Chunk& chunk, const DeviceRows& queries,
                                   const std::int64_t* self, const std::vector<std::int64_t>& which,
                                   TileResult& result) {
    std::vector<std::int64_t> left;
    try {
        const FilterVectors& finer = finer_filter(chunk, run.points.metric);
        const InFlight reading(run.stream);
        const Gathered again(run, queries.rows, on_device(which, run.stream), self);
        const auto count = static_cast<std::int64_t>(which.size()), step = std::min(count, run.plan.query_tile / 4 + 1);
        for (std::int64_t first = 0; first < count; first += step) {
            const std::int64_t some = std::min(step, count - first);
            FilterOutcome found = filter_tile(chunk, finer, run.points.metric, again.tile(first, some), run.k, run.plan,
                                              nullptr, run.stream);
            put_rows(run, found.result, again, first, some, result);
            for (const std::int64_t i : uncertain_rows(found, run.report.candidates, run.stream).rows)
                left.push_back(which[static_cast<std::size_t>(first + i)]);
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return which;  // the scan needs no more than the plan has
    }
    return left;
}

// The plain scan for queries without a certificate.
void scan(const Run& run, const Chunk& chunk, const DeviceRows& queries, const std::int64_t* self,
          const std::vector<std::int64_t>& which, TileResult& result) {
    InFlight reading(run.stream);
    const Gathered again(run, queries.rows, on_device(which, run.stream), self);
    const tuning::RescanTile tile =
        tuning::rescan_tile(static_cast<double>(run.plan.workspace_bytes), run.points.d, run.k);
    const auto count = static_cast<std::int64_t>(which.size()), step = std::min(count, tile.queries);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        const TileResult found =
            scan_tile(chunk, run.points.metric, again.tile(first, some), run.k, tile.points, run.stream);
        put_rows(run, found, again, first, some, result);
    }
    reading.wait("scan of queries without a certificate");
    run.report.candidates += static_cast<double>(count) * static_cast<double>(chunk.points.rows.count);
}

// Neighbours of a run of queries in one chunk: enqueued by the constructor, certain after settle(). Its memory is the
// device's, freed in stream order.
class ChunkSearch {
public:
    ChunkSearch(const Run& run, const Chunk& chunk, std::int64_t first, std::int64_t count)
        : run_(run), chunk_(chunk), first_(first), self_(run.graph ? count : 0, run.stream) {
        if (run.plan.symmetric) {
            arranged_ = {Buffer<std::uint64_t>(count * run.k, run.stream),
                         Buffer<std::uint32_t>(count * run.k, run.stream)};
            // The points by position, for whom the filter's tiles serve rows and columns.
            Buffer<std::int64_t> rows(count, run.stream);
            position_rows(chunk.filter.form, count, rows.get(), run.stream);
            check(cudaMemcpyAsync(self_.get(), rows.get(), static_cast<std::size_t>(count) * sizeof(std::int64_t),
                                  cudaMemcpyDefault, run.stream),
                  "cudaMemcpy");
            Gathered gathered(run, chunk.points.rows, std::move(rows), nullptr);
            queries_ = std::move(gathered.rows);
        } else {
            queries_ = load_queries(run, first, count);
            // Relative to the chunk; an id outside of it leaves nothing out.
            if (run.graph) count_up(self_.get(), count, first - chunk.first, run.stream);
        }
        const QueryTile tile{queries_.prepared(), run.graph ? self_.get() : nullptr, run.plan.symmetric};
        if (run.plan.path == "exact")
            found_.result = scan_tile(chunk, run.points.metric, tile, run.k, run.plan.point_tile, run.stream);
        else found_ = filter_tile(chunk, chunk.filter, run.points.metric, tile, run.k, run.plan, nullptr, run.stream);
        arrange();
    }

    // In the order of the caller's queries.
    const TileResult& result() const { return run_.plan.symmetric ? arranged_ : found_.result; }

    // Waits, and answers the queries that have no certificate another way. True where that changed the result.
    bool settle() {
        const std::int64_t q = queries_.rows.count;
        run_.progress.add(static_cast<double>(q) * static_cast<double>(chunk_.points.rows.count));
        if (run_.plan.path == "exact") {
            check(cudaStreamSynchronize(run_.stream), "search");
            run_.report.candidates += static_cast<double>(q) * static_cast<double>(chunk_.points.rows.count);
            for (std::int64_t i = 0; i < q; ++i) run_.mark(first_ + i, Run::scanned);
            return false;
        }
        const Uncertain uncertain = uncertain_rows(found_, run_.report.candidates, run_.stream);
        if (uncertain.rows.empty()) return false;
        for (const std::int64_t i : uncertain.rows) run_.mark(first_ + i, Run::certified_again);
        std::vector<std::int64_t> left = retry(run_, chunk_, queries_, self_.get(), uncertain, found_.result);
        if (finer_pays(run_, chunk_, left.size()))
            left = refilter(run_, chunk_, queries_, self_.get(), left, found_.result);
        for (const std::int64_t i : left) run_.mark(first_ + i, Run::scanned);
        if (!left.empty()) scan(run_, chunk_, queries_, self_.get(), left, found_.result);
        arrange();
        return true;
    }

private:
    void arrange() {
        if (!run_.plan.symmetric) return;
        const std::int64_t q = queries_.rows.count, k = run_.k;
        scatter_rows(arranged_.keys.get(), arranged_.ids.get(), found_.result.keys.get(), found_.result.ids.get(),
                     self_.get(), q, k, run_.stream);
    }

    const Run& run_;
    const Chunk& chunk_;
    std::int64_t first_;
    DeviceRows queries_;
    Buffer<std::int64_t> self_;
    FilterOutcome found_;
    TileResult arranged_;
};

// Final lists of rows [first, first + count) to the caller's memory; ids that were made there stay.
void deliver(const Run& run, Lists lists, std::int64_t first, std::int64_t count) {
    const std::int64_t cells = count * run.k, element = run.f64 ? 8 : 4;
    std::int64_t* const ids = run.out.ids + first * run.k;
    if (lists.ids != ids)
        check(cudaMemcpyAsync(ids, lists.ids, static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault,
                              run.stream),
              "copy of the ids");
    if (!run.out.distances) return;
    char* const distances = static_cast<char*>(run.out.distances) + first * run.k * element;
    Buffer<char> made(run.direct ? 0 : cells * element, run.stream);
    char* const values = run.direct ? distances : made.get();
    const DeviceMetric& metric = run.points.metric;
    if (!metric.kernels) user_report(lists.keys, values, run.f64, cells, run.stream);
    else if (run.f64)
        metric.kernels->report_f64(lists.keys, reinterpret_cast<double*>(values), cells, metric.params, run.stream);
    else metric.kernels->report_f32(lists.keys, reinterpret_cast<float*>(values), cells, metric.params, run.stream);
    if (run.direct) return;
    check(cudaMemcpyAsync(distances, values, static_cast<std::size_t>(cells * element), cudaMemcpyDefault, run.stream),
          "copy of the distances");
}

void cancel_if_asked(const Run& run) {
    run.progress.poll("search");
    run.progress.throw_if_cancelled();
}

// A tile of queries through one chunk into its lists, merged with what they hold; the lists of the last chunk go to the
// caller while the search still waits for its certificates.
void search_tile(const Run& run, const Chunk& chunk, std::int64_t first, std::int64_t count, bool merge, bool last,
                 Lists lists, Lists scratch) {
    ChunkSearch search(run, chunk, first, count);
    const auto place = [&] {
        place_rows(lists, search.result().keys.get(), search.result().ids.get(), chunk.first, count, run.k, run.stream);
        if (last) deliver(run, lists, first, count);
    };
    if (!merge) {
        place();
        if (search.settle()) place();
    } else {
        search.settle();
        merge_rows(lists, search.result().keys.get(), search.result().ids.get(), chunk.first, count, run.k, scratch,
                   run.stream);
        if (last) deliver(run, lists, first, count);
    }
    cancel_if_asked(run);
}

}  // namespace

void search(const Points& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan, bool f64,
            void* caller_stream, ProgressMeter& progress, const NeighborsView& out, Report& report) {
    const DeviceScope scope(points.device);
    if (plan.symmetric && (points.streams || plan.query_tile < queries.rows))
        throw Error(ErrorCode::invalid_argument, "plan: symmetric, which needs all points and all queries at once");
    std::vector<std::uint8_t> ways(static_cast<std::size_t>(queries.rows), Run::certified_at_once);
    const Run run{points,
                  queries,
                  k,
                  graph,
                  plan,
                  f64,
                  static_cast<cudaStream_t>(caller_stream),
                  progress,
                  out,
                  report,
                  out.device == points.device && !points.streams,
                  ways};
    InFlight work(run.stream);
    const std::int64_t tile = std::min(plan.query_tile, queries.rows);
    // Where points stream, many tiles of queries share one pass over them, as many as their lists allow.
    const std::int64_t list_bytes = k * 32;
    const std::int64_t most =
        std::max<std::int64_t>(1, std::max(plan.workspace_bytes / 4, std::int64_t{16} << 20) / list_bytes / tile);
    const std::int64_t group = points.streams ? tile * most : tile;
    for (std::int64_t group_first = 0; group_first < queries.rows; group_first += group) {
        const std::int64_t group_count = std::min(group, queries.rows - group_first), cells = group_count * k;
        Buffer<std::uint64_t> keys(cells, run.stream), scratch_keys(points.streams ? tile * k : 0, run.stream);
        Buffer<std::int64_t> own_ids(run.direct ? 0 : cells, run.stream),
            scratch_ids(points.streams ? tile * k : 0, run.stream);
        std::int64_t* const ids = run.direct ? out.ids + group_first * k : own_ids.get();
        const Lists scratch{scratch_keys.get(), scratch_ids.get()};
        const auto pass = [&](const Chunk& chunk, bool merge, bool last) {
            for (std::int64_t first = 0; first < group_count; first += tile) {
                const std::int64_t count = std::min(tile, group_count - first);
                search_tile(run, chunk, group_first + first, count, merge, last,
                            {keys.get() + first * k, ids + first * k}, scratch);
            }
        };
        if (points.streams) {
            ChunkStream chunks(points, plan, progress, run.stream);
            std::int64_t seen = 0;
            while (const Chunk* chunk = chunks.next()) {
                const bool merge = seen > 0;
                seen += chunk->points.rows.count;
                pass(*chunk, merge, seen == points.n);
            }
        } else {
            pass(points.resident, false, true);
        }
    }
    work.wait("search");
    for (const std::uint8_t way : ways)
        ++(way == Run::certified_at_once ? report.certified
           : way == Run::certified_again ? report.retried
                                         : report.scanned);
}

}  // namespace kith::gpu
