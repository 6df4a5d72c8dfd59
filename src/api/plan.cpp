// The public plan() and its twins for measured machines and selections.
#include <fmt/format.h>

#include "api/guard.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/refuse.h"
#include "formula/program.h"
#include "kith/functor.h"
#include "kith/plan.h"
#include "plan/machines.h"
#include "plan/planner.h"
#include "plan/schedule.h"

namespace kith {

namespace {

void positive(std::int64_t value, const char* what) {
    if (value < 1) refuse("{}: {}; expected at least 1", what, value);
}

// Without points: parameters of the metric that need them are not looked at.
planner::Request requested(const Shape& shape, const Options& options) {
    positive(shape.n, "n");
    positive(shape.q, "q");
    positive(shape.d, "d");
    positive(shape.k, "k");
    api::check_searchable(shape.type, "type");
    api::check_parameters(options.metric, shape.type);
    MetricSpec metric;
    metric.id = api::computed_metric(options.metric);
    metric.functor = options.metric.functor;
    if (metric.id == MetricId::formula && !options.metric.formula.empty()) {
        metric.formula = formula::compile(options.metric.formula);
        metric.start = options.metric.start;
    }
    metric.params = {.p = options.metric.p, .d = shape.d, .packed_bits = options.metric.packed_bits};
    const int dimensions = api::facts(metric).traits.dimensions;
    if (dimensions && shape.d != dimensions) refuse("d: {}; {} expected {}", shape.d, name(metric.id), dimensions);
    planner::Request asked = api::request(shape, metric, options, host_memory);
    asked.prepared = shape.prepared;
    return asked;
}

}  // namespace

Plan plan(const Shape& shape, const Options& options) {
    return api::guarded([&] { return planner::make(requested(shape, options), api::machine(options.device)); });
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
        [&] { return planner::make(requested(shape, options), planner::known_machine(machine).machine); });
}

std::vector<GraphSchedule> graph_schedules(const Shape& shape, const Options& options, const std::string& machine) {
    return api::guarded([&] {
        if (!shape.graph) refuse("shape: a search; expected a graph");
        const planner::Request asked = requested(shape, options);
        const planner::Machine here =
            machine.empty() ? api::machine("cuda:all") : planner::known_machine(machine).machine;
        constexpr int most = 8;
        std::vector<GraphSchedule> out;
        for (int count = 1; count <= most && !here.devices.empty(); ++count) {
            try {
                out.push_back(planner::schedule(asked, here, count, api::is_symmetric(options.metric)));
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory) throw;
            }
        }
        return out;
    });
}

MeasuredTime measured_time(const std::string& machine, const Shape& shape, const Options& options, const Plan& plan) {
    return api::guarded([&] {
        const planner::KnownMachine known = planner::known_machine(machine);
        const double n = static_cast<double>(shape.n), q = static_cast<double>(shape.q),
                     d = static_cast<double>(shape.d);
        const char* const metric = name(options.metric.id);
        // What directions or clusters save the data decide: all coordinates of all points are what it may take.
        const bool directions = plan.path == Path::projected, clusters = plan.path == Path::clustered,
                   bytes = planner::searches_by_bytes(plan);
        const Path coordinates_path = plan.device == host_memory ? Path::gemm_i8 : Path::gemm_f16;
        double rate = plan.distances.empty()
                          ? planner::known_rate(known, directions || clusters || bytes ? coordinates_path : plan.path,
                                                metric, d, static_cast<double>(shape.k))
                          : 0;
        if (rate == 0)
            return MeasuredTime{
                0, fmt::format("{} on {} was not measured by path {}", metric, known.facts.what, path_name(plan))};
        if (plan.device == host_memory) rate *= static_cast<double>(plan.threads) / known.machine.threads;
        MeasuredTime time{known.start_seconds + n * q / rate,
                          fmt::format("rates of {}, {}{}", known.facts.what, known.source,
                                      directions ? ", by all coordinates; along few directions it takes less"
                                      : clusters ? ", with all points; in clusters it takes less"
                                      : bytes    ? ", by fp16; numbers of 8 bits take less"
                                                 : "")};
        // Prepared points that stream come in each search all the same.
        const bool there = shape.prepared && (bytes || plan.chunk_points >= shape.n);
        const double coordinates = ((there ? 0 : n) + (shape.graph ? 0 : q)) * d,
                     element = static_cast<double>(size_of(shape.type));
        const double results = q * static_cast<double>(shape.k) * (sizeof(std::int64_t) + sizeof(float));
        if (known.copied_bytes > 0) time.seconds += (coordinates * element + results) / known.copied_bytes;
        // What passes the filter, a little more than the neighbours.
        constexpr double candidates = 1.1;
        if (plan.host_points != HostPoints::none && known.copied_bytes > 0) {
            time.seconds += candidates * q * static_cast<double>(shape.k) * d * element / known.copied_bytes;
            time.source += "; points that pass the filter are read at the rate of copies, which was not measured";
        }
        if (known.prepared_values > 0) time.seconds += coordinates / known.prepared_values;
        return time;
    });
}

Plan plan_select(std::int64_t rows, std::int64_t cols, std::int64_t k, ElementType type, const Options& options) {
    return api::guarded([&] {
        positive(rows, "rows");
        positive(cols, "cols");
        positive(k, "k");
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
