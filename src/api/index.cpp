// Index: points that are validated and prepared once; each call is validated, planned and run.
#include "kith/index.h"

#include <memory>

#include "api/device_group.h"
#include "api/empty.h"
#include "api/guard.h"
#include "api/host_view.h"
#include "api/radius.h"
#include "api/radius_room.h"
#include "api/radius_root.h"
#include "api/request.h"
#include "api/validate.h"
#include "api/variances.h"
#include "api/wide_search.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "kith/functor.h"
#include "papers/plan.h"
#include "plan/by_selector.h"

namespace kith {

struct Index::State {
    Options options;
    MetricSpec metric;
    std::int64_t n = 0, d = 0;
    api::Extent extent;  // of the points
    MetricSpec rooted;   // euclidean, and that extent for it: see takes_roots()
    api::Extent rooted_extent;
    std::vector<double> scaled;  // the points, where the metric takes others than the caller's
    std::unique_ptr<const api::DeviceIndex> single;
    std::unique_ptr<const api::DeviceGroup> several;  // instead; of no points neither

    // As Options::device names it.
    std::string device() const {
        return single ? single->device() : several ? several->device() : "cpu";
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
            return a == b || (a && a->host == b->host && a->device == b->device &&
                              a->state == b->state && a->start == b->start);
        }
        const std::vector<double>* const constants = metric.constants.get();
        if (m.id == MetricId::seuclidean && m.variances.data)
            return api::deviations(api::given_variances(m.variances, d)) == *constants;
        const MatrixView& v = m.inverse_covariance;
        if (m.id != MetricId::mahalanobis || !v.data) return true;
        if (v.rows != d || v.cols != d || v.type != ElementType::f64) return false;
        std::vector<std::byte> storage;
        const MatrixView given = api::on_host(v, storage);
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = 0; j < d; ++j)
                if (static_cast<const double*>(given.data)[exact::offset(given, i, j)] !=
                    (*constants)[static_cast<std::size_t>(i * d + j)])
                    return false;
        return true;
    }

    // Whether a search by radius is of euclidean among points of sqeuclidean: nobody named a
    // metric, or the call that one where the Index has none.
    bool takes_roots(const Options& call) const {
        return !api::is_named(options.metric) &&
               (!api::is_named(call.metric) || call.metric.id == api::usual_radius_metric);
    }

    // Metric and device are the index' own: a call may leave them alone or name the same.
    void check_call(const Options& call) const {
        if (api::is_named(call.metric) && !is_own(call.metric)) refuse_metric(call.metric);
        check_device(call);
    }
    void check_radius(const MatrixView* queries, const Options& call) const {
        if (queries) check_queries(*queries);
        if (api::is_named(call.metric) && !takes_roots(call) && !is_own(call.metric))
            refuse_metric(call.metric);
        check_device(call);
    }
    [[noreturn]] void refuse_metric(const Metric& named) const {
        const char* const own = name(options.metric.id);
        if (named.id == options.metric.id)
            refuse("metric: {} with other parameters than this index was prepared for", own);
        refuse("metric: {}; this index was prepared for {}", name(named.id), own);
    }
    void check_device(const Options& call) const {
        if (papers::is_graph_path(call.path))
            refuse("path: '{}' serves graph() of points, not an Index", call.path);
        const std::string own = device();
        const bool other = !call.device.empty() && call.device != "auto" && call.device != own &&
                           call.device != options.device &&
                           !(call.device == "cuda" && single && own != "cpu");
        if (other) refuse("device: '{}'; this index was prepared on {}", call.device, own);
    }

    // The options of a call, with the index' own metric and device.
    Options own_of(const Options& call) const {
        Options own = call;
        own.metric = options.metric;
        own.device = device();
        return own;
    }

    // Without queries: the points among themselves.
    Report run(const MatrixView* queries, std::int64_t k, const Options& call,
               const NeighborsView& out) const {
        const std::int64_t q = queries ? queries->rows : n;
        api::check_out(out, q);
        ProgressMeter progress(call.progress, static_cast<double>(q) * static_cast<double>(n));
        if (queries)
            api::check_values(*queries, metric, "queries", api::threads_of(call), progress);
        if (n == 0 || q == 0) return api::search_without_pairs(q, k, own_of(call), out);
        std::vector<double> query_storage;
        const MatrixView taken =
            queries ? take(*queries, call, progress, query_storage) : MatrixView{};
        const api::KeyRange range = key_range(metric, queries ? &taken : nullptr, call, progress);
        std::vector<std::byte> storage;
        const MatrixView points =
            range.is_left() || (single && !queries) ? all_points(storage) : MatrixView{};
        return api::search_in_range(
            {metric, points, queries ? taken : points, k, !queries, range, call, progress, out},
            [&](std::int64_t wanted, const Options& given, const NeighborsView& into) {
                if (several)
                    return several->run(queries ? &taken : nullptr, wanted, given, progress, into);
                return single->run(queries ? taken : points, wanted, !queries, given, progress,
                                   into);
            });
    }

    MatrixView all_points(std::vector<std::byte>& storage) const {
        return single ? single->points() : several->all_points(storage);
    }
    // Validated queries, as the metric takes them.
    MatrixView take(const MatrixView& queries, const Options& call, ProgressMeter& progress,
                    std::vector<double>& storage) const {
        return api::scaled_rows(queries, metric, api::threads_of(call), progress, storage);
    }
    // Of `searched`, the metric or `rooted`.
    api::KeyRange key_range(const MetricSpec& searched, const MatrixView* queries,
                            const Options& call, ProgressMeter& progress) const {
        const api::Extent& of_points = &searched == &rooted ? rooted_extent : extent;
        if (!queries) return api::key_range(searched, of_points);
        const api::Extent own = api::extent_of(*queries, searched, api::threads_of(call), progress);
        return api::key_range(searched, api::join(of_points, own));
    }

    void check_queries(const MatrixView& queries) const {
        api::check_view(queries, "queries", 0);
        api::check_dimensions(d, queries.cols);
    }
    void check_queries(const MatrixView& queries, std::int64_t k, const Options& call) const {
        check_queries(queries);
        check_call(call);
        api::check_k(k, queries.rows);
    }

    // The same of a radius.
    Report run_radius(const MatrixView* queries, const Radius& r, const Options& call,
                      const api::RadiusWants& wants) const {
        const std::int64_t q = queries ? queries->rows : n;
        ProgressMeter progress(call.progress, static_cast<double>(q) * static_cast<double>(n));
        const MetricSpec& searched = takes_roots(call) ? rooted : metric;
        api::radii_of(r, q, searched);
        if (queries)
            api::check_values(*queries, metric, "queries", api::threads_of(call), progress);
        if (n == 0 || q == 0) return api::radius_without_pairs(q, own_of(call), wants);
        std::vector<double> query_storage;
        const MatrixView taken =
            queries ? take(*queries, call, progress, query_storage) : MatrixView{};
        const api::KeyRange range = key_range(searched, queries ? &taken : nullptr, call, progress);
        std::vector<std::byte> storage;
        const MatrixView points = range.is_left() ? all_points(storage) : MatrixView{};
        const api::RadiusCall radius{queries ? &taken : nullptr, r, call, progress, wants};
        const auto once = [&](const api::RadiusCall& part) {
            return single ? api::run_radius(*single, part)
                          : api::run_radius(*several, metric, part);
        };
        const auto run = [&](const api::RadiusCall& part) {
            std::vector<std::byte> room;
            api::require_room(
                part, metric, n, [&] { return part.queries ? *part.queries : all_points(room); },
                once);
            return once(part);
        };
        const auto ordinary = [&](const api::RadiusCall& part) {
            return takes_roots(call) ? api::run_rooted(part, n, d, run) : run(part);
        };
        return api::radius_in_range({searched, points, queries ? taken : points, range, radius},
                                    ordinary);
    }
};

Index::Index(const MatrixView& points, const Options& options) : Index(points, options, true) {}

Index Index::borrowing(const MatrixView& points, const Options& options) {
    return Index(points, options, false);
}

Index::Index(const MatrixView& given, const Options& options, bool copy)
    : state_(std::make_unique<State>()) {
    api::guarded([&] {
        api::check_view(given, "points", 0);
        State& s = *state_;
        s.options = options;
        s.options.progress = nullptr;
        ProgressMeter progress(options.progress, 0);
        const int threads = api::threads_of(options);
        s.metric = api::validate_metric(options.metric, given, threads, progress);
        api::check_values(given, s.metric, "points", threads, progress);
        s.rooted.id = api::usual_radius_metric;
        s.rooted.params.d = given.cols;
        s.n = given.rows;
        s.d = given.cols;
        if (s.n == 0) {
            api::report_without_pairs(options, 0);
            return;
        }
        const MatrixView points = api::scaled_rows(given, s.metric, threads, progress, s.scaled);
        s.extent = api::extent_of(points, s.metric, threads, progress);
        if (!api::is_named(options.metric))
            s.rooted_extent = api::extent_of(points, s.rooted, threads, progress);
        // Prepared for searches of few neighbours: those of many take the plain scan, which any
        // preparation serves.
        const Shape shape{points.rows, 1, points.cols, 1, points.type, false};
        Options typical = options;
        if (typical.path.empty() && !planner::forces_selector(typical.selector) && points.rows < 64)
            typical.path = name(Path::exact);
        std::vector<std::string> devices = api::devices_of(options);
        if (devices.size() > 1) {
            s.several = std::make_unique<api::DeviceGroup>(points, s.metric, std::move(devices),
                                                           shape, typical, copy, progress);
        } else {
            s.single = std::make_unique<api::DeviceIndex>(points, s.metric, shape, typical, copy,
                                                          true, progress);
        }
        if (copy) s.scaled = {};
    });
}

Index::~Index() {
    const machine::FloatState state;
    state_.reset();
}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&& other) noexcept {
    const machine::FloatState state;
    state_ = std::move(other.state_);
    return *this;
}

std::int64_t Index::size() const {
    return state_->n;
}
std::int64_t Index::dimensions() const {
    return state_->d;
}

Neighbors Index::search(const MatrixView& queries, std::int64_t k, const Options& options) const {
    return api::guarded([&] {
        state_->check_queries(queries, k, options);
        return api::collect(queries.rows, k, options.f64, [&](const NeighborsView& out) {
            return state_->run(&queries, k, options, out);
        });
    });
}

Report Index::search_into(const MatrixView& queries, std::int64_t k, const Options& options,
                          const NeighborsView& out) const {
    return api::guarded([&] {
        state_->check_queries(queries, k, options);
        return state_->run(&queries, k, options, out);
    });
}

Neighbors Index::graph(std::int64_t k, const Options& options) const {
    return api::guarded([&] {
        api::check_k(k, size());
        state_->check_call(options);
        return api::collect(size(), k, options.f64, [&](const NeighborsView& out) {
            return state_->run(nullptr, k, options, out);
        });
    });
}

Report Index::graph_into(std::int64_t k, const Options& options, const NeighborsView& out) const {
    return api::guarded([&] {
        api::check_k(k, size());
        state_->check_call(options);
        return state_->run(nullptr, k, options, out);
    });
}

RadiusNeighbors Index::radius(const MatrixView& queries, const Radius& r,
                              const Options& options) const {
    return api::guarded([&] {
        state_->check_radius(&queries, options);
        return api::collect_whole(queries.rows, options.f64, r, [&](const api::RadiusWants& wants) {
            return state_->run_radius(&queries, r, options, wants);
        });
    });
}

RadiusCounts Index::radius_counts(const MatrixView& queries, const Radius& r,
                                  const Options& options) const {
    return api::guarded([&] {
        state_->check_radius(&queries, options);
        return api::collect_counts(queries.rows, [&](std::int64_t* counts) {
            return state_->run_radius(&queries, r, options, {.counts = counts});
        });
    });
}

Report Index::radius_blocks(const MatrixView& queries, const Radius& r, const Options& options,
                            const TakeRadiusRows& take) const {
    return api::guarded([&] {
        const TakeRadiusRows handed_on = machine::for_caller(take);
        state_->check_radius(&queries, options);
        return state_->run_radius(&queries, r, options, {.take = &handed_on});
    });
}

RadiusNeighbors Index::radius_graph(const Radius& r, const Options& options) const {
    return api::guarded([&] {
        state_->check_radius(nullptr, options);
        return api::collect_whole(size(), options.f64, r, [&](const api::RadiusWants& wants) {
            return state_->run_radius(nullptr, r, options, wants);
        });
    });
}

RadiusCounts Index::radius_graph_counts(const Radius& r, const Options& options) const {
    return api::guarded([&] {
        state_->check_radius(nullptr, options);
        return api::collect_counts(size(), [&](std::int64_t* counts) {
            return state_->run_radius(nullptr, r, options, {.counts = counts});
        });
    });
}

Report Index::radius_graph_blocks(const Radius& r, const Options& options,
                                  const TakeRadiusRows& take) const {
    return api::guarded([&] {
        const TakeRadiusRows handed_on = machine::for_caller(take);
        state_->check_radius(nullptr, options);
        return state_->run_radius(nullptr, r, options, {.take = &handed_on});
    });
}

}  // namespace kith
