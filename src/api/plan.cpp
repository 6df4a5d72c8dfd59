// The public plan() and the plan of a selection: options and this machine to the planner.
#include <fmt/format.h>

#include "api/validate.h"
#include "kith/error.h"
#include "kith/functor.h"
#include "kith/plan.h"
#include "plan/planner.h"

namespace kith {

namespace {

void positive(std::int64_t value, const char* what) {
    if (value < 1) throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}; expected at least 1", what, value));
}

}  // namespace

Plan plan(const Shape& shape, const Options& options) {
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

Plan plan_select(std::int64_t rows, std::int64_t cols, std::int64_t k, ElementType type, const Options& options) {
    positive(rows, "rows");
    positive(cols, "cols");
    MatrixView shape;
    shape.rows = rows;
    shape.cols = cols;
    shape.type = type;
    shape.device = host_memory;
    api::check_selection(shape, k);
    return api::plan_selection(shape, k, options);
}

namespace api {

void check_selection(const MatrixView& m, std::int64_t k) {
    if (m.type != ElementType::f32 && m.type != ElementType::f64)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("distances: element type {}; expected f32 or f64", name(m.type)));
    check_k(k, m.rows);
    if (k > m.cols)
        throw Error(ErrorCode::invalid_argument, fmt::format("k: {}; expected at most the {} columns", k, m.cols));
}

Plan plan_selection(const MatrixView& m, std::int64_t k, const Options& options) {
    const Shape shape{m.cols, m.rows, 1, k, m.type, false};
    return planner::selection(request(shape, MetricSpec{}, options, m.device), machine());
}

}  // namespace api

}  // namespace kith
