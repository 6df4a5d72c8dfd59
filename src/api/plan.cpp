// The public plan() and the plan of a selection: options and this machine to the planner.
#include <fmt/format.h>

#include "api/validate.h"
#include "kith/error.h"
#include "kith/functor.h"
#include "kith/plan.h"
#include "plan/planner.h"

namespace kith {

Plan plan(const Shape& shape, const Options& options) {
    const auto positive = [](std::int64_t value, const char* what) {
        if (value < 1)
            throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}; expected at least 1", what, value));
    };
    positive(shape.n, "n");
    positive(shape.q, "q");
    positive(shape.d, "d");
    positive(shape.k, "k");
    MetricSpec metric;  // judged without points: parameters that need them are not looked at
    metric.id = options.metric.id;
    metric.functor = options.metric.functor;
    if (metric.id == MetricId::functor && !metric.functor)
        throw Error(ErrorCode::invalid_argument, "functor: null; expected the result of functor_metric()");
    return planner::make(api::request(shape, metric, options, host_memory), api::machine());
}

namespace api {

Plan plan_selection(const MatrixView& m, std::int64_t k, const Options& options) {
    const Shape shape{m.cols, m.rows, 1, k, m.type, false};
    return planner::selection(request(shape, MetricSpec{}, options, m.device), machine());
}

}  // namespace api

}  // namespace kith
