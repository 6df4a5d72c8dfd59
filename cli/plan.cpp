// kith plan: what a search or a selection of a shape would do, why, and at what cost, without data.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "command.h"
#include "estimate.h"
#include "json.h"
#include "kith/error.h"
#include "kith/schedule.h"
#include "numbers.h"
#include "options.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    Shape shape;
    bool select = false;
    std::int64_t rows = 0, cols = 0;
    SelectArgs selection;
    std::string type = "f32";
    DistanceArgs distance;
    ExecutionArgs execution;
    std::string machine;
    bool f64 = false;
    bool json = false;
};

int show(const Args& args, Json object, const Plan& plan, const std::string& cost, const std::string& more = "") {
    if (!args.json) {
        fmt::print("{}{}{}", cost, explain(plan), more);
        return exit_ok;
    }
    object["plan"] = to_json(plan);
    object["explain"] = explain(plan);
    print_json(object);
    return exit_ok;
}

int execute_select(const Args& args) {
    Options options;
    set_select(args.selection, options);
    set_execution(args.execution, options);
    const ElementType type = parse_type(args.type);
    const Plan plan = plan_select(args.rows, args.cols, args.shape.k, type, options);
    Json object = {{"command", "plan"}, {"kith", KITH_VERSION}};
    object["shape"] = {{"rows", args.rows}, {"cols", args.cols}, {"k", args.shape.k}, {"type", name(type)}};
    object["largest"] = options.largest;
    object["sorted"] = options.sorted;
    object["order"] = options.order;
    return show(args, std::move(object), plan, "");
}

// A line for each number of GPUs; "" where there are none.
std::string table(const std::vector<GraphSchedule>& schedules) {
    if (schedules.empty()) return "";
    constexpr double gib = 1 << 30;
    std::string text = "\nGPUs  schedule    pairs of n x n  busiest / mean  GiB held by each  received  sent\n";
    for (const GraphSchedule& s : schedules)
        text += fmt::format("{:4}  {:10}  {:14.3f}  {:14.3f}  {:16.2f}  {:8.2f}  {:4.2f}\n", s.devices, s.how, s.pairs,
                            s.balance, s.device_bytes / gib, s.received_bytes / gib, s.sent_bytes / gib);
    return text;
}

int execute_search(const Args& args) {
    std::vector<double> numbers;
    Options options;
    options.metric = make_metric(args.distance, numbers);
    options.f64 = args.f64;
    set_execution(args.execution, options);
    Shape shape = args.shape;
    shape.type = parse_type(args.type);
    if (shape.graph) shape.q = shape.n;
    if (args.machine.empty()) {
        const Calibration found = calibration();
        if (found.asked && !found.problem.empty()) throw Error(ErrorCode::bad_file, "KITH_MACHINE: " + found.problem);
        // Found in the user's folder and not asked for: no reason to refuse.
        if (!found.problem.empty()) say("kith: warning: not used: {}\n", printable(found.problem));
    }
    const Plan plan = args.machine.empty() ? kith::plan(shape, options) : plan_on(args.machine, shape, options);
    const Estimate cost = estimate(shape, options, plan, args.machine);
    Json object = {
        {"command", "plan"}, {"kith", KITH_VERSION}, {"shape", to_json(shape)}, {"metric", to_json(options.metric)}};
    if (!args.machine.empty()) object["machine"] = args.machine;
    object["estimate"] = to_json(cost);
    std::vector<GraphSchedule> schedules;
    if (shape.graph && plan.device != host_memory) schedules = graph_schedules(shape, options, args.machine);
    for (const GraphSchedule& schedule : schedules) object["schedules"].push_back(to_json(schedule));
    return show(args, std::move(object), plan, estimate_text(cost), table(schedules));
}

}  // namespace

void add_plan(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("plan", "What a search or a selection of that shape would do, and why");
    const char* group = "Shape of a search";
    CLI::Option* n = add_count(*command, "-n,--n", args->shape.n, "Points", 1)->type_name("N")->group(group);
    CLI::Option* q = add_count(*command, "-q,--q", args->shape.q, "Queries", 1)->type_name("Q")->group(group);
    CLI::Option* graph =
        command->add_flag("--graph", args->shape.graph, "Instead of --q: the points among themselves")->group(group);
    CLI::Option* d = add_count(*command, "-d,--d", args->shape.d, "Dimensions", 1)->type_name("D")->group(group);
    CLI::Option* f64 = command->add_flag("--f64", args->f64, "Distances as f64 instead of f32")->group(group);
    CLI::Option* prepared =
        command
            ->add_flag("--prepared", args->shape.prepared, "The points are an Index', prepared ahead of many searches")
            ->group(group);
    graph->excludes(q);
    std::string names;
    for (const MeasuredMachine& m : measured_machines())
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", m.name, m.what);
    CLI::Option* machine = command
                               ->add_option("--machine", args->machine,
                                            "Plan for a machine that was measured instead of this one: " + names +
                                                ", or a file of kith calibrate")
                               ->type_name("NAME")
                               ->group(group);
    group = "Shape of a selection";
    CLI::Option* select = command->add_flag("--select", args->select, "Plan kith select")->group(group);
    CLI::Option* rows =
        add_count(*command, "--rows", args->rows, "Rows of the matrix", 1)->type_name("R")->group(group);
    CLI::Option* cols = add_count(*command, "--cols", args->cols, "Values of a row", 1)->type_name("N")->group(group);
    add_distance(*command, args->distance);
    const DistanceArgs& distance = args->distance;
    for (CLI::Option* option : {n, q, d, graph, f64, prepared, machine, distance.metric_given, distance.p_given})
        option->excludes(select);
    for (CLI::Option* option : {rows, cols}) {
        option->needs(select);
        select->needs(option);
    }
    add_select_options(*command, args->selection, group);
    for (const char* option : {"--largest", "--unsorted", "--order"}) command->get_option(option)->needs(select);
    group = "Shape of both";
    add_count(*command, "-k,--k", args->shape.k, "Neighbours of each, or values of each row", 1)
        ->type_name("K")
        ->required()
        ->group(group);
    command->add_option("--type", args->type, "Element type: f32, f64, and of a search f16, bf16, i8, u8")
        ->type_name("NAME")
        ->capture_default_str()
        ->group(group);
    add_execution(*command, args->execution);
    command->add_flag("--json", args->json, "One JSON object on standard output, nothing else");
    command->callback([args, n, d, &run] {
        if (!args->select && n->count() == 0) throw CLI::RequiredError("--n (or --select)");
        if (!args->select && d->count() == 0) throw CLI::RequiredError("--d");
        run = [args] { return args->select ? execute_select(*args) : execute_search(*args); };
    });
}

}  // namespace kith::cli
