// Many small searches: validate, plan, one launch or a search of each.
#include "kith/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "api/empty.h"
#include "api/group_report.h"
#include "api/guard.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/rows.h"
#include "api/run.h"
#include "api/validate.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "gpu/search/batches.h"
#include "kith/kith.h"
#include "plan/batches.h"
#include "strategy/trace.h"

namespace kith {

namespace {

// A launch that takes no more than this plans without asking the device what is free, which takes
// longer.
constexpr std::int64_t assumed_free = std::int64_t{256} << 20;
// Roughly what a search of a batch takes one thread: to know whether others are worth waking.
constexpr double search_microseconds = 10, pair_microseconds = 1.0 / 500;

void check_range(std::int64_t first, std::int64_t count, std::int64_t rows, std::size_t batch,
                 const char* what) {
    if (first < 0 || count < 0 || first > rows || count > rows - first)
        refuse("batches: {} of batch {}: {} rows from {}; there are {}", what, batch, count, first,
               rows);
}

void check_batches(const MatrixView& points, const MatrixView& queries,
                   const std::vector<Batch>& batches) {
    std::int64_t end = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const Batch& b = batches[i];
        check_range(b.first_point, b.points, points.rows, i, "points");
        check_range(b.first_query, b.queries, queries.rows, i, "queries");
        if (b.queries == 0) continue;
        if (b.first_query < end)
            refuse(
                "batches: queries of batch {} begin at {}; expected {} or more, behind those "
                "before",
                i, b.first_query, end);
        end = b.first_query + b.queries;
    }
}

void check(const MatrixView& points, const MatrixView& queries, const std::vector<Batch>& batches,
           std::int64_t k, const Options& options) {
    api::check_view(points, "points", 0);
    api::check_view(queries, "queries", 0);
    api::check_dimensions(points.cols, queries.cols);
    api::check_k(k, queries.rows);
    check_batches(points, queries, batches);
    if (options.enqueue) refuse("enqueue: serves selections; a search has finished on return");
}

double pairs_of(const Batch& b) {
    return static_cast<double>(b.points) * static_cast<double>(b.queries);
}

bool empty(const Batch& b) {
    return b.points == 0 || b.queries == 0;
}

// One call of search_batches_into().
class Batches {
public:
    Batches(const MatrixView& points, const MatrixView& queries, const std::vector<Batch>& batches,
            std::int64_t k, const Options& options, const NeighborsView& out)
        : points_(points),
          queries_(queries),
          batches_(batches),
          k_(k),
          options_(options),
          out_(out) {
        for (const Batch& b : batches) {
            pairs_ += pairs_of(b);
            report_.queries += b.queries;
        }
    }

    Report run() {
        api::check_parameters(options_.metric, points_.type);
        if (pairs_ == 0) {
            ProgressMeter progress(options_.progress, 0);
            MatrixView none = points_;
            none.rows = 0;
            api::validate_metric(options_.metric, none, 1, progress);
            Report report = api::search_without_pairs(queries_.rows, k_, options_, out_);
            report.queries = report.certified = report_.queries;
            return report;
        }
        try {
            return searched();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::invalid_argument) name_value();
            throw;
        }
    }

private:
    Report searched() {
        const planner::BatchesPlan plan = planned();
        if (plan.run == planner::BatchesRun::together && together(plan)) {
            report_.path = "batches";
            report_.device =
                fmt::format("cuda:{} ({})", plan.device, gpu::device_facts(plan.device).name);
            report_.certified = report_.queries;
            strategy::infer(report_);
        } else if (plan.run == planner::BatchesRun::tasks) {
            on_cpu(plan);
        } else {
            separately();
        }
        report_.pairs = pairs_;
        report_.seconds = seconds();
        return report_;
    }

    // A search of a batch has refused: of a coordinate, the first one by its row among those of all
    // batches.
    void name_value() const {
        MetricSpec metric;
        metric.id = api::computed_metric(options_.metric);
        metric.params.packed_bits = options_.metric.packed_bits;
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        for (const Batch& b : batches_) {
            if (empty(b)) continue;
            const auto check = [&](const MatrixView& all, const char* what, std::int64_t first,
                                   std::int64_t count) {
                api::check_values(api::rows_of(all, first, count), metric, what,
                                  api::threads_of(options_), progress, first);
            };
            check(points_, "points", b.first_point, b.points);
            check(queries_, "queries", b.first_query, b.queries);
        }
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    planner::BatchesPlan planned() const {
        MetricSpec metric;
        metric.id = api::computed_metric(options_.metric);
        metric.functor = options_.metric.functor;
        const auto shape =
            planner::shape_of(points_, queries_, batches_, k_, options_.f64, out_.device);
        const planner::Request request =
            api::request(shape.shape, metric, options_, points_.device);
        planner::BatchesPlan plan =
            planner::batches(request, shape, api::machine(options_.device, assumed_free));
        if (plan.device == host_memory || options_.memory > 0 ||
            planner::batches_bytes(shape, plan.device, points_.device) <= assumed_free / 2)
            return plan;
        return planner::batches(request, shape, api::machine(options_.device));
    }

    // False where the memory was free no longer.
    bool together(const planner::BatchesPlan& plan) const {
        ProgressMeter progress(options_.progress, pairs_);
        const MetricSpec metric = api::validate_metric(options_.metric, points_, 1, progress);
        try {
            gpu::search_batches({points_, queries_, batches_, k_, metric, plan.device, options_.f64,
                                 options_.stream, progress, out_});
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory || options_.memory > 0 ||
                progress.cancelled())
                throw;
            return false;
        }
        return true;
    }

    // A search of one batch, which counts from its own rows.
    Report one(const Batch& b, const Options& given) const {
        Options options = given;
        const bool free = options.path.empty() && options.selector.empty() && options.memory == 0 &&
                          options.metric.id < MetricId::formula;
        if (options.device == "cpu" && free)
            options.path = planner::batch_path(api::traits_of(api::computed_metric(options.metric)),
                                               b, points_.cols, k_);
        return search_into(api::rows_of(points_, b.first_point, b.points),
                           api::rows_of(queries_, b.first_query, b.queries), k_, options,
                           api::rows_of(out_, b.first_query, k_, options_.f64));
    }

    void count(const Report& part) {
        const Report before = report_;
        api::add(part, report_);
        report_.queries = before.queries;
        report_.prepare_seconds += part.prepare_seconds;
        if (part.pairs < largest_) {
            report_.path = before.path;
            report_.device = before.device;
        }
        largest_ = std::max(largest_, part.pairs);
    }

    // Each by all that the options give a search.
    void in_turn(const std::vector<std::size_t>& which, double done) {
        Options options = options_;
        if (options_.progress)
            options.progress = [&](const Progress& p) {
                const machine::FloatState state;
                return machine::for_caller(options_.progress)(
                    Progress{done + p.done, pairs_, seconds(), p.stage});
            };
        for (const std::size_t i : which) {
            count(one(batches_[i], options));
            done += pairs_of(batches_[i]);
        }
    }

    void separately() {
        fill_missing();
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < batches_.size(); ++i)
            if (!empty(batches_[i])) all.push_back(i);
        in_turn(all, 0);
    }

    void on_cpu(const planner::BatchesPlan& plan) {
        std::vector<std::byte> point_storage, query_storage;
        points_ = api::on_host(points_, point_storage);
        queries_ = api::on_host(queries_, query_storage);
        const NeighborsView to = out_;
        const auto cells = static_cast<std::size_t>(queries_.rows * k_),
                   bytes = cells * (options_.f64 ? 8 : 4);
        const bool staged = to.device != host_memory;
        if (staged) api::check_result_memory(k_, queries_.rows, 8 + (options_.f64 ? 8 : 4));
        std::vector<std::int64_t> ids(staged ? cells : 0);
        std::vector<std::byte> distances(staged && to.distances ? bytes : 0);
        if (staged)
            out_ = {ids.data(), distances.empty() ? nullptr : distances.data(), host_memory};
        options_.device = "cpu";
        fill_missing();
        share(plan);
        if (staged) gpu::copy(to.ids, ids.data(), cells * sizeof(std::int64_t));
        if (!distances.empty()) gpu::copy(to.distances, distances.data(), bytes);
    }

    void share(const planner::BatchesPlan& plan) {
        std::vector<std::size_t> tasks, others;
        for (std::size_t i = 0; i < batches_.size(); ++i) {
            if (empty(batches_[i])) continue;
            (planner::is_task(pairs_of(batches_[i]), pairs_, plan.threads) ? tasks : others)
                .push_back(i);
        }
        Options alone = options_;
        alone.threads = 1;
        alone.progress = nullptr;
        ProgressMeter progress(options_.progress, pairs_);
        std::mutex counting;
        const machine::ThreadPool::Cost cost(
            search_microseconds * static_cast<double>(tasks.size()) + pair_microseconds * pairs_);
        const auto search_one = [&](std::int64_t task) {
            const Batch& b = batches_[tasks[static_cast<std::size_t>(task)]];
            const Report part = one(b, alone);
            const std::scoped_lock lock(counting);
            count(part);
            progress.add(part.pairs);
        };
        watched_tasks(plan.threads, std::ssize(tasks), progress, "search", search_one, cost);
        progress.throw_if_cancelled();
        in_turn(others, progress.done());
        Plan named;
        named.isa = plan.isa;
        named.threads = plan.threads;
        api::name_cpu(named, report_);
    }

    // The rows of queries that no search answers: of no batch, or of one without points.
    void fill_missing() const {
        std::int64_t next = 0;
        for (const Batch& b : batches_) {
            if (empty(b)) continue;
            fill_rows(next, b.first_query);
            next = b.first_query + b.queries;
        }
        fill_rows(next, queries_.rows);
    }

    void fill_rows(std::int64_t first, std::int64_t last) const {
        constexpr std::int64_t values = 1 << 16;
        const std::int64_t rows = std::max<std::int64_t>(1, values / k_);
        for (; first < last; first += rows)
            api::put_missing(std::min(rows, last - first), k_,
                             api::traits_of(options_.metric.id).similarity,
                             options_.f64 ? ElementType::f64 : ElementType::f32,
                             api::rows_of(out_, first, k_, options_.f64));
    }

    MatrixView points_, queries_;
    const std::vector<Batch>& batches_;
    std::int64_t k_;
    Options options_;
    NeighborsView out_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double pairs_ = 0, largest_ = 0;
    Report report_;
};

}  // namespace

Report search_batches_into(const MatrixView& points, const MatrixView& queries,
                           const std::vector<Batch>& batches, std::int64_t k,
                           const Options& options, const NeighborsView& out) {
    return api::guarded([&] {
        check(points, queries, batches, k, options);
        api::check_out(out, queries.rows);
        return Batches(points, queries, batches, k, options, out).run();
    });
}

Neighbors search_batches(const MatrixView& points, const MatrixView& queries,
                         const std::vector<Batch>& batches, std::int64_t k,
                         const Options& options) {
    return api::guarded([&] {
        check(points, queries, batches, k, options);
        return api::collect(queries.rows, k, options.f64, [&](const NeighborsView& out) {
            return Batches(points, queries, batches, k, options, out).run();
        });
    });
}

}  // namespace kith
