// Options that several commands share: declaration, parsing, conversion to kith::Options.
#include "options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <sstream>

#include "files.h"
#include "kith/did_you_mean.h"
#include "numbers.h"

namespace kith::cli {
namespace {

constexpr int most_threads = 4096;

constexpr std::array all_types = {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                  ElementType::i8,  ElementType::u8,  ElementType::i32, ElementType::i64};

void only_with(bool given, const char* option, MetricId wanted, MetricId id) {
    if (given && id != wanted) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} is for {} only, and the metric is {}", option, name(wanted), name(id)));
    }
}

}  // namespace

void add_distance(CLI::App& command, DistanceArgs& args, const DistanceChoice& choice) {
    const char* group = "Distance";
    args.metric = choice.metric;
    args.metric_given =
        command.add_option("-m,--metric", args.metric, "The distance, by name or alias (kith info lists them)")
            ->type_name("NAME")
            ->capture_default_str()
            ->group(group);
    args.p_given =
        add_real(command, "--p", args.p, "Exponent of minkowski, >= 1; inf is chebyshev")->type_name("P")->group(group);
    if (choice.formula) {
        args.formula_given =
            command
                .add_option("--formula", args.formula,
                            "A distance of your own: the next running value from a (running value), q and x "
                            "(coordinates), e.g. 'a + fabs(q - x)'")
                ->type_name("TEXT")
                ->excludes(args.metric_given)
                ->group(group);
        args.start_given = add_real(command, "--start", args.start, "Value of a before the first coordinate (0)")
                               ->type_name("V")
                               ->needs(args.formula_given)
                               ->group(group);
    }
    if (choice.parameters) {
        const std::string from = choice.estimated_from;
        const auto what = [&](const char* numbers) {
            return from.empty() ? fmt::format("{}, which expects them", numbers)
                                : fmt::format("{}; without them, estimated from {}", numbers, from);
        };
        command.add_option("--inverse-covariance", args.inverse_covariance, what("The d x d numbers of mahalanobis"))
            ->type_name("FILE")
            ->group(group);
        command.add_option("--variances", args.variances, what("The d variances of seuclidean"))
            ->type_name("FILE")
            ->group(group);
    }
    if (!choice.packed_bits) return;
    command
        .add_flag("--packed-bits", args.packed_bits, "hamming, jaccard, dice: each u8 holds 8 coordinates of one bit")
        ->group(group);
}

void reads_distance(OutputSet& outputs, const DistanceArgs& args) {
    outputs.reads("--inverse-covariance", args.inverse_covariance);
    outputs.reads("--variances", args.variances);
}

Metric make_metric(const DistanceArgs& args, std::vector<double>& numbers) {
    Metric metric;
    if (args.formula_given && args.formula_given->count() > 0) {
        metric = MetricId::formula;
        metric.formula = args.formula;
        metric.start = args.start;
    } else {
        metric = metric_named(args.metric);
    }
    only_with(args.p_given->count() > 0, "--p", MetricId::minkowski, metric.id);
    only_with(!args.inverse_covariance.empty(), "--inverse-covariance", MetricId::mahalanobis, metric.id);
    only_with(!args.variances.empty(), "--variances", MetricId::seuclidean, metric.id);
    if (args.p_given->count() > 0) metric.p = args.p;
    metric.packed_bits = args.packed_bits;
    // A metric takes one of them at most.
    // A name that cannot be one, whatever the points are, is not read.
    const auto numbers_of = [&](const char* option, const std::string& path, bool square) {
        MatrixReader reader(path, reading(""));
        const std::int64_t rows = reader.info().rows, cols = reader.info().cols;
        if (square ? rows != cols : rows != 1 && cols != 1)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} {}: {} x {} values; expected {}", option, path, rows, cols,
                                    square ? "as many rows as columns, those of the points" : "one of each column"));
        numbers = to_doubles(read_matrix(reader));
        return view(numbers.data(), rows, cols);
    };
    if (!args.inverse_covariance.empty())
        metric.inverse_covariance = numbers_of("--inverse-covariance", args.inverse_covariance, true);
    if (!args.variances.empty()) metric.variances = numbers_of("--variances", args.variances, false);
    return metric;
}

void add_execution(CLI::App& command, ExecutionArgs& args) {
    const char* group = "Speed (never changes the answer)";
    command
        .add_option("--device", args.device,
                    "auto, cpu, cuda or cuda:N; several GPUs share a search as cuda:0,1 or cuda:all")
        ->type_name("NAME")
        ->capture_default_str()
        ->group(group);
    add_count(command, "-t,--threads", args.threads, "CPU threads; 0: all", 0, most_threads)
        ->type_name("T")
        ->group(group);
    command
        .add_option(
            "--memory", args.memory,
            "What the whole process may take on the host (search, graph, radius: larger points are read in shards), "
            "e.g. 8GiB, 500MB, 1.5G (= GiB); most of what is free if not given")
        ->type_name("SIZE")
        ->group(group);
    command.add_option("--path", args.path, "Force a path by name (kith info lists them)")
        ->type_name("NAME")
        ->group(group);
    command
        .add_option("--selector", args.selector,
                    "Force a selector by name, of a selection or a search (kith info --selectors lists them)")
        ->type_name("NAME")
        ->group(group);
    command
        .add_option("--isa", args.isa,
                    "Force an instruction set: amx, avx512, avx2, baseline (CPU), sm_90a, sm_80 (GPU filters)")
        ->type_name("NAME")
        ->group(group);
}

void set_execution(const ExecutionArgs& args, Options& options) {
    options.device = args.device;
    options.threads = args.threads;
    options.memory = args.memory.empty() ? 0 : parse_bytes(args.memory);
    options.path = args.path;
    options.selector = args.selector;
    options.isa = args.isa;
}

void add_select_options(CLI::App& command, SelectArgs& args, const char* group) {
    command.add_flag("--largest", args.largest, "The k largest instead")->group(group);
    command.add_flag("--unsorted", args.unsorted, "Permit any order within a row")->group(group);
    command
        .add_option("--order", args.order,
                    "What is known of the values of every row: ascending or descending; never changes the answer")
        ->type_name("NAME")
        ->group(group);
}

void set_select(const SelectArgs& args, Options& options) {
    options.largest = args.largest;
    options.sorted = !args.unsorted;
    options.order = args.order;
}

void add_output(CLI::App& command, OutputArgs& args) {
    command.add_flag("--json", args.json, "One JSON object on standard output, nothing else");
    command.add_flag("--quiet", args.quiet, "No progress bar and no summary");
}

ElementType parse_type(const std::string& text) {
    std::string list;
    for (const ElementType type : all_types) {
        if (text == name(type)) return type;
        list += fmt::format("{}{}", list.empty() ? "" : ", ", name(type));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("unknown element type '{}'{}; expected one of {}", text,
                                                         did_you_mean(text, choices("type")), list));
}

std::vector<std::string> metric_names() {
    return {
#define KITH_METRIC(name, type, aliases, what) #name,
#include "kith/metrics.def"
#undef KITH_METRIC
    };
}

std::vector<std::string> choices(std::string_view option) {
    if (option == "metric") return metric_names();
    if (option == "device") return {"auto", "cpu", "cuda"};
    if (option == "isa") return {"amx", "avx512", "avx2", "baseline", "sm_90a", "sm_80"};
    if (option == "order") return {"ascending", "descending"};
    if (option == "machine") {
        std::vector<std::string> names;
        for (const MeasuredMachine& machine : measured_machines()) names.emplace_back(machine.name);
        return names;
    }
    if (option == "header") return {"yes", "no"};
    if (option == "decimal") return {"point", "comma"};
    if (option == "shell") return {"bash", "zsh", "fish"};
    if (option == "type") {
        std::vector<std::string> names;
        for (const ElementType type : all_types) names.emplace_back(name(type));
        return names;
    }
    if (option == "format" || option == "from" || option == "to") {
        // A line of a format: its name, its suffixes, what it is.
        std::vector<std::string> names;
        std::istringstream lines(formats_help());
        for (std::string line, name, suffix; std::getline(lines, line);) {
            if (std::istringstream(line) >> name >> suffix && suffix[0] == '.') names.push_back(name);
        }
        return names;
    }
    return {};
}

}  // namespace kith::cli
