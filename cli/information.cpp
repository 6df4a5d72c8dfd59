// kith estimate: entropy, divergence and mutual information of samples in files, by their nearest neighbours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "command.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/did_you_mean.h"
#include "kith/estimators.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    std::string x, y, z;
    InputArgs input;
    std::int64_t k = 3;
    std::string form;
    std::int64_t source_lags = 1, target_lags = 1;
    Bootstrap bootstrap;
    std::int64_t seed = 0;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

// The samples of a command, as it was given them.
struct Samples {
    Matrix x, y, z;
};
using Estimator = std::function<Estimate(const Args&, const Samples&, const Options&)>;

int execute(Args args, const char* what, const Estimator& estimator) {
    const Stopwatch total;
    std::vector<double> numbers;
    Options options;
    if (args.distance.metric_given) options.metric = make_metric(args.distance, numbers);
    set_execution(args.execution, options);
    args.bootstrap.seed = static_cast<std::uint64_t>(args.seed);
    Samples samples;
    Inputs inputs(args.input, options.memory);
    samples.x = inputs.points(args.x);
    if (!args.y.empty()) samples.y = inputs.points(args.y);
    if (!args.z.empty()) samples.z = inputs.points(args.z);
    options.memory = inputs.memory_left();
    Estimate found;
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        found = estimator(args, samples, options);
    }
    stop_if_interrupted();
    if (args.output.json) {
        Json object = {{"command", "estimate"}, {"kith", KITH_VERSION}, {"of", what}, {"k", args.k}};
        object["value"] = found.value;
        if (args.bootstrap.repeats > 0) object["error"] = found.error;
        object["samples"] = found.samples;
        object["inputs"] = inputs.json();
        object["left_out"] = found.left_out;
        object["seconds"] = total.seconds();
        print_json(object);
        return exit_ok;
    }
    fmt::print("{:.6g} nats{} ({}{})\n", found.value,
               args.bootstrap.repeats > 0 ? fmt::format(", error {:.2g}", found.error) : "",
               counted(found.samples, "sample", "samples"),
               found.left_out == 0 ? "" : fmt::format(", {} equal ones left out", grouped(found.left_out)));
    std::fflush(stdout);
    if (found.left_out > 0 && !args.output.quiet)
        say("warning: {} of {} equal others, and say nothing of a density: values that were rounded are those of no\n"
            "continuous variable; estimate from what was measured, or add noise below its resolution\n",
            grouped(found.left_out), counted(found.samples + found.left_out, "sample", "samples"));
    if (!args.output.quiet) say_text(inputs.text());
    return exit_ok;
}

// The names of the options of a form, and its value.
template <class Form>
using Forms = std::initializer_list<std::pair<const char*, Form>>;
template <class Form>
Form form_of(const std::string& name, Forms<Form> forms) {
    std::vector<std::string> all;
    for (const auto& [known, form] : forms) {
        if (name == known || name.empty()) return form;  // the first
        all.emplace_back(known);
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--form '{}'{}: expected one of {}", name, did_you_mean(name, all), fmt::join(all, ", ")));
}

CLI::App& add(CLI::App& parent, CommandRun& run, const std::shared_ptr<Args>& args, const char* name, const char* title,
              const char* x, const Estimator& estimator) {
    CLI::App* command = parent.add_subcommand(name, title);
    command->add_option(x, args->x, "The samples, one a row")->type_name("FILE")->required()->group("Input");
    add_input(*command, args->input, "the files, where their names do not say");
    add_count(*command, "-k", args->k, "The neighbour whose distance is taken (3)", 1)->type_name("K");
    CLI::Option* const bootstrap =
        add_count(*command, "--bootstrap", args->bootstrap.repeats,
                  "Estimate the error, dealing the samples out N times at random (0: none)", 0);
    bootstrap->type_name("N")->group("Error");
    // They say how the samples are dealt out, and nothing without it.
    const std::initializer_list<CLI::Option*> of_bootstrap = {
        add_count(*command, "--parts", args->bootstrap.parts, "Into how many parts, each of which is estimated (2)", 2),
        add_count(*command, "--stretch", args->bootstrap.stretch,
                  "Rows that stay together (1; transfer-entropy: the root of their number)", 1),
        add_count(*command, "--seed", args->seed, "Of the random numbers (0)", 0)};
    for (CLI::Option* const option : of_bootstrap) option->type_name("N")->group("Error")->needs(bootstrap);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run, name, estimator] { run = [=] { return execute(*args, name, estimator); }; });
    return *command;
}

void add_second(CLI::App& command, const std::shared_ptr<Args>& args, const char* option, const char* what) {
    command.add_option(option, args->y, what)->type_name("FILE")->required()->group("Input");
}

void add_form(CLI::App& command, const std::shared_ptr<Args>& args, const char* what) {
    command.add_option("--form", args->form, what)->type_name("NAME");
}

}  // namespace

void add_estimate(CLI::App& app, CommandRun& run) {
    CLI::App* group = app.add_subcommand("estimate", "Entropy, divergence, mutual information of samples, in nats");
    group->footer(
        "kith estimate COMMAND --help says more. Neighbours and counts are exact. Values of continuous variables are\n"
        "expected: equal samples are left out (entropy, divergence) or counted as discrete (the others).");
    group->require_subcommand(1);
    const auto samples = [] { return std::make_shared<Args>(); };

    auto args = samples();
    CLI::App& of_entropy = add(*group, run, args, "entropy", "The differential entropy of a sample", "-x,--x",
                               [](const Args& a, const Samples& s, const Options& options) {
                                   return entropy(s.x.view(), a.k, options, a.bootstrap);
                               });
    add_distance(of_entropy, args->distance,
                 {.metric = "euclidean", .formula = false, .packed_bits = false, .parameters = false});

    args = samples();
    CLI::App& of_divergence =
        add(*group, run, args, "divergence", "The Kullback-Leibler divergence of what two samples are from", "-x,--x",
            [](const Args& a, const Samples& s, const Options& options) {
                using enum DivergenceForm;
                const auto form = form_of<DivergenceForm>(
                    a.form, {{"nearest", nearest}, {"ball", common_ball}, {"ball-distances", common_ball_distances}});
                return kl_divergence(s.x.view(), s.y.view(), a.k, form, options, a.bootstrap);
            });
    add_second(of_divergence, args, "-y,--y", "The other samples");
    add_form(of_divergence, args, "nearest (the default), ball, ball-distances");
    add_distance(of_divergence, args->distance, of_two_samples);

    args = samples();
    CLI::App& of_information =
        add(*group, run, args, "mutual-information", "What x and y say of each other, given z where there is one",
            "-x,--x", [](const Args& a, const Samples& s, const Options& options) {
                using enum KraskovForm;
                const auto form = form_of<KraskovForm>(a.form, {{"first", first}, {"second", second}});
                if (a.z.empty()) return mutual_information(s.x.view(), s.y.view(), a.k, form, options, a.bootstrap);
                if (form == second) throw Error(ErrorCode::invalid_argument, "--form second: serves without --z alone");
                return conditional_mutual_information(s.x.view(), s.y.view(), s.z.view(), a.k, options, a.bootstrap);
            });
    add_second(of_information, args, "-y,--y", "The other variable: as many rows");
    of_information.add_option("-z,--z", args->z, "The variable that is given: as many rows")
        ->type_name("FILE")
        ->group("Input");
    add_form(of_information, args, "Of Kraskov's estimators the first (the default) or the second");

    args = samples();
    CLI::App& of_transfer = add(
        *group, run, args, "transfer-entropy", "What the past of a series says about the next value of another",
        "--source", [](const Args& a, const Samples& s, const Options& options) {
            return transfer_entropy(s.x.view(), s.y.view(), a.k, a.source_lags, a.target_lags, options, a.bootstrap);
        });
    add_second(of_transfer, args, "--target", "The series that may follow: as many rows");
    add_count(of_transfer, "--source-lags", args->source_lags, "Past rows of the source (1)", 1)->type_name("N");
    add_count(of_transfer, "--target-lags", args->target_lags, "Past rows of the target (1)", 1)->type_name("N");
}

}  // namespace kith::cli
