// Index: points that are validated and prepared once; each call is validated, planned and run.
#include "kith/index.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "api/guard.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/self.h"
#include "api/validate.h"
#include "api/variances.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "kith/error.h"
#include "kith/functor.h"
#include "plan/planner.h"

namespace kith {

struct Index::State {
    Options options;
    api::Prepared prepared;

    // The points as the backend keeps them: the queries of graph().
    MatrixView points() const { return prepared.cpu ? cpu::elements(*prepared.cpu) : gpu::elements(*prepared.gpu); }

    // The plan of the last call, for calls of the same shape: asking a device for its free memory takes as long as a
    // small search does.
    struct Remembered {
        Shape shape;
        std::string path, isa, selector;
        std::int64_t memory = 0;
        int threads = 0;
        bool operator==(const Remembered&) const = default;
    };
    mutable std::mutex mutex;  // only tried: in a child it may be held by a thread of the parent
    mutable std::optional<std::pair<Remembered, Plan>> last;

    // `fresh`: not that of an earlier call, and was it made now.
    Plan plan(std::int64_t q, std::int64_t k, bool graph, ElementType query_type, const Options& call, double share,
              bool& fresh) const {
        const Remembered key{{prepared.n, q, prepared.d, k, query_type, graph},
                             call.path,
                             call.isa,
                             call.selector,
                             call.memory,
                             call.threads};
        if (!fresh) {
            const std::unique_lock lock(mutex, std::try_to_lock);
            if (lock && last && last->first == key) return last->second;
        }
        fresh = true;
        Plan made = make_plan(q, k, graph, query_type, call, share);
        if (share < 1) return made;  // memory was scarce: the next call asks again
        const std::unique_lock lock(mutex, std::try_to_lock);
        if (lock) last.emplace(key, made);
        return made;
    }

    Plan make_plan(std::int64_t q, std::int64_t k, bool graph, ElementType query_type, const Options& call,
                   double share) const {
        Options merged = call;
        merged.metric = options.metric;
        merged.device = prepared.plan.device == host_memory ? "cpu" : fmt::format("cuda:{}", prepared.plan.device);
        if (!merged.memory) merged.memory = options.memory;
        if (merged.isa.empty()) merged.isa = options.isa;
        if (merged.path.empty() && prepared.plan.path == Path::exact) merged.path = name(Path::exact);
        const ElementType type = query_type == ElementType::f64 ? ElementType::f64 : prepared.type;
        const Shape shape{prepared.n, q, prepared.d, k, type, graph};
        const auto planned = [&] {
            planner::Request request = api::request(shape, prepared.metric, merged, host_memory);
            request.chunk_points = prepared.plan.chunk_points;
            request.share = share;
            return planner::make(request, api::machine(merged.device));
        };
        Plan p = planned();
        // Filters other than the one that was prepared are made when they are first asked for.
        const bool served = p.path == Path::exact || prepared.plan.path != Path::exact;
        if (!served) {
            if (!call.path.empty())
                refuse("path: '{}'; this index was prepared for {}", name(p.path), name(prepared.plan.path));
            merged.path = name(Path::exact);
            p = planned();
        }
        return p;
    }

    // Whether a metric that a call names is the one that was prepared, with its parameters.
    bool is_own(const Metric& m) const {
        const Metric& own = options.metric;
        if (m.id != own.id || m.packed_bits != own.packed_bits) return false;
        if (m.id == MetricId::minkowski) return m.p == own.p;
        if (m.id == MetricId::formula) return m.formula == own.formula && m.start == own.start;
        if (m.id == MetricId::functor) {
            const FunctorMetric* const a = m.functor;
            const FunctorMetric* const b = own.functor;
            return a == b ||
                   (a && a->host == b->host && a->device == b->device && a->state == b->state && a->start == b->start);
        }
        const std::vector<double>* const constants = prepared.metric.constants.get();
        if (m.id == MetricId::seuclidean && m.variances.data)
            return api::deviations(api::given_variances(m.variances, prepared.d)) == *constants;
        const MatrixView& v = m.inverse_covariance;
        if (m.id != MetricId::mahalanobis || !v.data) return true;
        if (v.rows != prepared.d || v.cols != prepared.d || v.type != ElementType::f64) return false;
        std::vector<std::byte> storage;
        const MatrixView given = api::on_host(v, storage);
        for (std::int64_t i = 0; i < prepared.d; ++i)
            for (std::int64_t j = 0; j < prepared.d; ++j)
                if (static_cast<const double*>(given.data)[exact::offset(given, i, j)] !=
                    (*constants)[static_cast<std::size_t>(i * prepared.d + j)])
                    return false;
        return true;
    }

    // Metric and device are the index' own: a call may leave them alone or name the same.
    void check_call(const Options& call) const {
        const bool named = call.metric.chosen || call.metric.id != Metric{}.id;
        if (named && !is_own(call.metric))
            throw Error(ErrorCode::invalid_argument,
                        call.metric.id == options.metric.id
                            ? fmt::format("metric: {} with other parameters than this index was prepared for",
                                          name(call.metric.id))
                            : fmt::format("metric: {}; this index was prepared for {}", name(call.metric.id),
                                          name(options.metric.id)));
        const int device = prepared.plan.device;
        const std::string own = device == host_memory ? "cpu" : fmt::format("cuda:{}", device);
        if (!call.device.empty() && call.device != "auto" && call.device != own &&
            !(call.device == "cuda" && device != host_memory))
            refuse("device: '{}'; this index was prepared on {}", call.device, own);
    }

    Report run(const MatrixView& queries, std::int64_t k, bool graph, const Options& call,
               const NeighborsView& out) const {
        api::check_out(out);
        ProgressMeter progress(call.progress, static_cast<double>(queries.rows) * static_cast<double>(prepared.n));
        if (!graph) api::check_values(queries, prepared.metric, "queries", api::threads_of(call), progress);
        const std::int64_t searched = api::searched_k(k, graph, call);
        const bool any_memory = prepared.gpu && call.memory == 0 && options.memory == 0;
        return api::with_less_memory(progress, [&](double share, bool& allocating) {
            bool fresh = share < 1;  // the plan of an earlier call serves until memory proves to have become scarcer
            const Plan made = plan(queries.rows, searched, graph, queries.type, call, share, fresh);
            allocating = any_memory || !fresh;
            return api::run_rows(prepared, {queries, k, graph, made, call, progress, out});
        });
    }

    void check_queries(const MatrixView& queries, std::int64_t k, const Options& call) const {
        api::check_view(queries, "queries");
        api::check_dimensions(prepared.d, queries.cols);
        api::check_k(k, queries.rows);
        check_call(call);
    }
};

Index::Index(const MatrixView& points, const Options& options) : state_(std::make_unique<State>()) {
    api::guarded([&] {
        api::check_view(points, "points");
        State& s = *state_;
        s.options = options;
        s.options.progress = nullptr;
        ProgressMeter progress(options.progress, 0);
        const int threads = api::threads_of(options);
        const MetricSpec metric = api::validate_metric(options.metric, points, threads, progress);
        api::check_values(points, metric, "points", threads, progress);
        // Prepared for searches of few neighbours: those of many take the plain scan, which any preparation serves.
        const Shape shape{points.rows, 1, points.cols, 1, points.type, false};
        Options typical = options;
        if (typical.path.empty() && points.rows < 64) typical.path = name(Path::exact);
        s.prepared = api::with_less_memory(progress, [&](double share, bool& allocating) {
            const Plan plan = api::plan_search(shape, metric, typical, points.device, share, allocating);
            return api::prepare(points, metric, plan, true, options, progress);
        });
    });
}

Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

std::int64_t Index::size() const {
    return state_->prepared.n;
}
std::int64_t Index::dimensions() const {
    return state_->prepared.d;
}

Neighbors Index::search(const MatrixView& queries, std::int64_t k, const Options& options) const {
    return api::guarded([&] {
        state_->check_queries(queries, k, options);
        return api::collect(queries.rows, k, options.f64,
                            [&](const NeighborsView& out) { return state_->run(queries, k, false, options, out); });
    });
}

Report Index::search_into(const MatrixView& queries, std::int64_t k, const Options& options,
                          const NeighborsView& out) const {
    return api::guarded([&] {
        state_->check_queries(queries, k, options);
        return state_->run(queries, k, false, options, out);
    });
}

Neighbors Index::graph(std::int64_t k, const Options& options) const {
    return api::guarded([&] {
        api::check_k(k, size());
        state_->check_call(options);
        return api::collect(size(), k, options.f64, [&](const NeighborsView& out) {
            return state_->run(state_->points(), k, true, options, out);
        });
    });
}

Report Index::graph_into(std::int64_t k, const Options& options, const NeighborsView& out) const {
    return api::guarded([&] {
        api::check_k(k, size());
        state_->check_call(options);
        return state_->run(state_->points(), k, true, options, out);
    });
}

}  // namespace kith
