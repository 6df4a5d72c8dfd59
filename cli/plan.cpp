// kith plan: what a search of a shape would do and why, without data.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "command.h"
#include "json.h"
#include "options.h"

namespace kith::cli {
namespace {

struct Args {
    Shape shape;
    std::string type = "f32";
    DistanceArgs distance;
    SpeedArgs speed;
    bool f64 = false;
    bool json = false;
};

int execute(const Args& args) {
    std::vector<double> inverse_covariance;
    Options options;
    options.metric = make_metric(args.distance, inverse_covariance);
    options.f64 = args.f64;
    set_speed(args.speed, options);
    Shape shape = args.shape;
    shape.type = parse_type(args.type);
    if (shape.graph) shape.q = shape.n;
    const Plan plan = kith::plan(shape, options);
    if (args.json) {
        print_json({{"command", "plan"},
                    {"kith", KITH_VERSION},
                    {"shape", to_json(shape)},
                    {"metric", to_json(options.metric)},
                    {"plan", to_json(plan)},
                    {"explain", explain(plan)}});
    } else {
        fmt::print("{}", explain(plan));
    }
    return exit_ok;
}

}  // namespace

void add_plan(CLI::App& app, Run& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("plan", "What a search of that shape would do, and why");
    const char* group = "Shape";
    command->add_option("-n,--n", args->shape.n, "Points")->type_name("N")->required()->group(group);
    CLI::Option* q = command->add_option("-q,--q", args->shape.q, "Queries")->type_name("Q")->group(group);
    CLI::Option* graph =
        command->add_flag("--graph", args->shape.graph, "Instead of --q: the points among themselves")->group(group);
    command->add_option("-d,--d", args->shape.d, "Dimensions")->type_name("D")->required()->group(group);
    command->add_option("-k,--k", args->shape.k, "Neighbours of each")->type_name("K")->required()->group(group);
    command->add_option("--type", args->type, "Element type: f32, f64, f16, bf16, i8, u8")
        ->type_name("NAME")
        ->capture_default_str()
        ->group(group);
    command->add_flag("--f64", args->f64, "Distances as f64 instead of f32")->group(group);
    graph->excludes(q);
    add_distance(*command, args->distance);
    add_speed(*command, args->speed);
    command->add_flag("--json", args->json, "One JSON object on standard output, nothing else");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
