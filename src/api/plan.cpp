// The public plan() and its variants for measured machines and selections.
#include <optional>

#include "api/calibration.h"
#include "api/check/validate.h"
#include "api/guard.h"
#include "api/request.h"
#include "exact/refuse.h"
#include "formula/program.h"
#include "kith/functor.h"
#include "kith/plan.h"
#include "papers/plan.h"
#include "plan/attempts.h"
#include "plan/by_selector.h"
#include "plan/planner.h"
#include "plan/rates/machines.h"
#include "plan/schedule.h"

namespace kith {

namespace {

// The planner multiplies sizes by bytes and by vectors of a tile: within these, which no memory
// holds, all products stay in 64 bits.
constexpr int dimension_bits = 48, element_bits = 56;

void positive(std::int64_t value, const char* what) {
    if (value < 1) refuse("{}: {}; expected at least 1", what, value);
}

// A matrix of `rows` x `cols`.
void addressable(std::int64_t rows, const char* what, std::int64_t cols, const char* of) {
    if (rows > (std::int64_t{1} << element_bits) / cols)
        refuse("{0}: {1}; expected at most 2^{2} elements, {0} x {3}, with {3} {4}", what, rows,
               element_bits, of, cols);
}

void check_sizes(const Shape& shape) {
    positive(shape.n, "n");
    positive(shape.q, "q");
    positive(shape.d, "d");
    positive(shape.k, "k");
    if (shape.d > std::int64_t{1} << dimension_bits)
        refuse("d: {}; expected at most 2^{}", shape.d, dimension_bits);
    addressable(shape.n, "n", shape.d, "d");
    addressable(shape.q, "q", shape.d, "d");
    addressable(shape.k, "k", shape.q, "q");
}

// Without points: metric parameters that depend on them are not checked.
planner::Request requested(const Shape& shape, const Options& options) {
    check_sizes(shape);
    api::check_searchable(shape.type, "type");
    api::check_parameters(options.metric, shape.type);
    MetricSpec metric;
    metric.id = api::computed_metric(options.metric);
    metric.functor = options.metric.functor;
    if (metric.id == MetricId::formula && !options.metric.formula.empty()) {
        metric.formula = formula::compile(options.metric.formula);
        metric.start = options.metric.start;
    }
    metric.params = {
        .p = options.metric.p, .d = shape.d, .packed_bits = options.metric.packed_bits};
    const int dimensions = api::facts(metric).traits.dimensions;
    if (dimensions && shape.d != dimensions)
        refuse("d: {}; {} expected {}", shape.d, name(metric.id), dimensions);
    planner::Request asked = api::request(shape, metric, options, host_memory);
    asked.points.prepared = shape.prepared;
    return asked;
}

Plan estimated(const planner::Request& request, const planner::Machine& machine) {
    Plan plan = planner::make(request, machine);
    planner::estimate_attempts(request, plan);
    return plan;
}

}  // namespace

Plan plan(const Shape& shape, const Options& options) {
    return api::guarded(
        [&] { return estimated(requested(shape, options), api::machine(options.device)); });
}

std::vector<MeasuredMachine> measured_machines() {
    return api::guarded([&] {
        std::vector<MeasuredMachine> list;
        for (const planner::KnownMachine& m : planner::known_machines()) list.push_back(m.facts);
        return list;
    });
}

Plan plan_on(const std::string& machine, const Shape& shape, const Options& options) {
    return api::guarded(
        [&] { return estimated(requested(shape, options), api::machine_named(machine).machine); });
}

Calibration calibration() {
    return api::guarded([] { return api::calibration_found(); });
}

std::vector<std::string> devices_to_measure() {
    return api::guarded([] { return api::devices_to_measure(); });
}

std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date) {
    return api::guarded([&] { return api::calibration_text(rates, date); });
}

std::vector<GraphSchedule> graph_schedules(const Shape& shape, const Options& options,
                                           const std::string& machine) {
    return api::guarded([&] {
        if (!shape.graph) refuse("shape: a search; expected a graph");
        const planner::Request asked = requested(shape, options);
        const planner::Machine here =
            machine.empty() ? api::machine("cuda:all") : api::machine_named(machine).machine;
        const bool one =
            papers::is_of_one_gpu(options.path) || planner::forces_selector(options.selector);
        const int most = one ? 1 : 8;
        std::vector<GraphSchedule> out;
        for (int count = 1; count <= most && !here.devices.empty(); ++count) {
            try {
                out.push_back(
                    planner::schedule(asked, here, count, api::is_symmetric(options.metric)));
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory) throw;
            }
        }
        return out;
    });
}

MeasuredTime measured_time(const std::string& machine, const Shape& shape, const Options& options,
                           const Plan& plan) {
    return api::guarded([&]() -> MeasuredTime {
        check_sizes(shape);
        std::optional<planner::KnownMachine> named;
        if (!machine.empty()) named = api::machine_named(machine);
        const planner::KnownMachine* const known = named ? &*named : api::calibrated();
        if (!known) {
            const MeasuredTime built_in = api::time_by_costs(shape, options, plan);
            return built_in.seconds > 0
                       ? built_in
                       : MeasuredTime{0, "this machine has not been calibrated (kith calibrate)"};
        }
        return api::time_by(*known, shape, options, plan);
    });
}

Plan plan_select(std::int64_t rows, std::int64_t cols, std::int64_t k, ElementType type,
                 const Options& options) {
    return api::guarded([&] {
        positive(rows, "rows");
        positive(cols, "cols");
        positive(k, "k");
        addressable(rows, "rows", cols, "cols");
        MatrixView shape;
        shape.rows = rows;
        shape.cols = cols;
        shape.type = type;
        shape.device = host_memory;
        api::check_selection(shape, k);
        return api::plan_selection(shape, k, options, true);
    });
}

}  // namespace kith
