// Matches of two sets of features, from a search in one direction or in both.
#include "kith/match.h"

#include "api/guard.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/refuse.h"
#include "kith/kith.h"

namespace kith {

Matches match(const MatrixView& a, const MatrixView& b, const MatchOptions& options) {
    return api::guarded([&] {
        api::check_view(a, "a", 0);
        api::check_view(b, "b", 0);
        if (a.cols != b.cols) refuse("b: {} columns; expected {}, as a has", b.cols, a.cols);
        const bool tested = options.ratio.has_value();
        const double ratio = options.ratio.value_or(1);
        if (!(ratio > 0 && ratio <= 1)) refuse("ratio: {}; expected above 0, up to 1", ratio);
        if (tested && b.rows == 1) refuse("b: {} rows; a ratio expected a second nearest", b.rows);
        Options search_as = options.search;
        search_as.metric = api::named_or(search_as.metric, MetricId::euclidean);
        search_as.f64 = true;
        if (tested && api::traits_of(search_as.metric.id).similarity)
            refuse("metric: '{}' is a similarity; a ratio expected a distance",
                   name(search_as.metric.id));
        const Metric& metric = search_as.metric;
        if ((metric.id == MetricId::seuclidean && !metric.variances.data) ||
            (metric.id == MetricId::mahalanobis && !metric.inverse_covariance.data))
            refuse(
                "metric: '{}' would be estimated from one of the two sets; expected its parameters",
                name(metric.id));
        const std::int64_t k = tested ? 2 : 1;
        const Neighbors forth = search(b, a, k, search_as);
        const Neighbors back = options.mutual ? search(a, b, 1, search_as) : Neighbors{};
        Matches out;
        out.report = forth.report;
        for (std::int64_t i = 0; i < a.rows; ++i) {
            const auto at = static_cast<std::size_t>(i * k);
            const std::int64_t j = forth.ids[at];
            if (j < 0) continue;
            const double distance = forth.distances64[at];
            if (tested && !(distance < ratio * forth.distances64[at + 1])) continue;
            if (options.mutual && back.ids[static_cast<std::size_t>(j)] != i) continue;
            out.first.push_back(i);
            out.second.push_back(j);
            out.distances.push_back(distance);
        }
        return out;
    });
}

}  // namespace kith
