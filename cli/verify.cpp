// kith verify: recomputes neighbours canonically and says whether a file holds exactly those.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "check.h"
#include "command.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/cut.h"
#include "listed.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli {
namespace {

constexpr std::int64_t shown_places = 10;

struct Args {
    std::string result;
    std::string base;
    std::string queries;
    bool graph = false;
    std::string ids;
    std::string distances;
    InputArgs input;
    std::int64_t k = 0;
    std::int64_t sample = 0;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

// All rows, or `sample` of them evenly spaced.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample) {
    const std::int64_t count = sample > 0 ? std::min(sample, rows) : rows;
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        chosen[static_cast<std::size_t>(i)] =
            static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(rows) / static_cast<double>(count));
    }
    return chosen;
}

// The canonical neighbours of the chosen rows. Of a graph: k + 1 neighbours, less the point itself where it is among
// them, else less the last.
Neighbors recompute(const MatrixView& base, const MatrixView& queries, const std::vector<std::int64_t>& rows,
                    std::int64_t k, const Options& options, bool graph) {
    const bool all = static_cast<std::int64_t>(rows.size()) == queries.rows;
    const Matrix some = all ? Matrix{} : gather(queries, rows);
    Neighbors found = search(base, all ? queries : some.view(), graph ? k + 1 : k, options);
    if (!graph) return found;
    Neighbors others;
    others.queries = found.queries;
    others.k = k;
    others.report = found.report;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::int64_t kept = 0;
        for (std::int64_t j = 0; j <= k && kept < k; ++j) {
            const std::size_t at = i * static_cast<std::size_t>(k + 1) + static_cast<std::size_t>(j);
            if (found.ids[at] == rows[i]) continue;
            others.ids.push_back(found.ids[at]);
            others.distances64.push_back(found.distances64[at]);
            ++kept;
        }
    }
    return others;
}

struct Outcome {
    std::int64_t exact = 0;
    std::int64_t tied = 0;
    std::int64_t wrong = 0;
    std::int64_t hits = 0;
    std::int64_t present = 0;
    std::optional<RowCheck> first_wrong;
    std::int64_t first_wrong_row = 0;
    std::size_t first_wrong_index = 0;
    DistanceCheck distances;
    bool distances_may_differ = false;

    std::int64_t rows() const { return exact + tied + wrong; }
    double recall() const { return present > 0 ? static_cast<double>(hits) / static_cast<double>(present) : 1.0; }
    bool is_exact() const { return wrong == 0 && (distances_may_differ || distances.different == 0); }
};

Outcome compare_lists(const Listed& listed, const Neighbors& expected, const std::vector<std::int64_t>& rows,
                      const RowChecker& row_checker) {
    Outcome outcome;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        stop_if_interrupted();
        const auto k = static_cast<std::size_t>(listed.k);
        const RowCheck row = row_checker.check(rows[i], listed.k, listed.ids.data() + listed.at(rows[i], 0),
                                               expected.ids.data() + i * k, expected.distances64.data() + i * k);
        outcome.hits += row.hits;
        outcome.present += row.present;
        ++(row.verdict == Verdict::exact ? outcome.exact : row.verdict == Verdict::tied ? outcome.tied : outcome.wrong);
        for (std::size_t j = 0; j < k && !listed.distances.empty(); ++j) {
            outcome.distances.compare(listed.distances[listed.at(rows[i], static_cast<std::int64_t>(j))],
                                      row.distances[j]);
        }
        if (listed.first == 1 && !listed.distances.empty())
            outcome.distances.compare(listed.distances[listed.at(rows[i], -1)], row_checker.self_distance(rows[i]));
        if (row.verdict == Verdict::wrong && !outcome.first_wrong) {
            outcome.first_wrong = row;
            outcome.first_wrong_row = rows[i];
            outcome.first_wrong_index = i;
        }
    }
    return outcome;
}

void print_first_wrong(const Listed& listed, const Neighbors& expected, const Outcome& outcome) {
    const RowCheck& row = *outcome.first_wrong;
    fmt::print("first wrong row: {}: {}\n", outcome.first_wrong_row, row.why);
    fmt::print("{:>8}  {:>12}  {:<24}{:>12}  {}\n", "place", "listed id", "distance", "should be", "distance");
    const std::int64_t first = std::max<std::int64_t>(0, std::min(row.first_place - 1, listed.k - shown_places));
    for (std::int64_t j = first; j < std::min(listed.k, first + shown_places); ++j) {
        const auto place = static_cast<std::size_t>(j);
        const std::size_t at = outcome.first_wrong_index * static_cast<std::size_t>(listed.k) + place;
        const std::int64_t id = listed.ids[listed.at(outcome.first_wrong_row, j)];
        const std::string distance =
            std::isnan(row.distances[place]) ? "not a neighbour" : fmt::format("{}", row.distances[place]);
        fmt::print("{:>8}  {:>12}  {:<24}{:>12}  {}{}\n", j + 1, id, distance, expected.ids[at],
                   expected.distances64[at], id == expected.ids[at] ? "" : "   <");
    }
}

Json first_wrong_json(const Listed& listed, const Neighbors& expected, const Outcome& outcome) {
    Json row = {{"row", outcome.first_wrong_row},
                {"place", outcome.first_wrong->first_place},
                {"why", outcome.first_wrong->why}};
    for (std::size_t j = 0; j < static_cast<std::size_t>(listed.k); ++j) {
        const std::size_t at = outcome.first_wrong_index * static_cast<std::size_t>(listed.k) + j;
        row["listed_ids"].push_back(listed.ids[listed.at(outcome.first_wrong_row, static_cast<std::int64_t>(j))]);
        row["listed_distances"].push_back(outcome.first_wrong->distances[j]);
        row["expected_ids"].push_back(expected.ids[at]);
        row["expected_distances"].push_back(expected.distances64[at]);
    }
    return row;
}

enum class MetricFrom { file, options, assumed };

const char* word(MetricFrom from) {
    return from == MetricFrom::file ? "file" : from == MetricFrom::options ? "options" : "assumed";
}

// What is to be verified, from the options and from what the file says of itself.
struct Subject {
    std::string ids;
    std::string distances;
    std::string base;
    std::string queries;
    bool graph = false;
    bool by_kith = true;            // or the distances are another's, who need not round as kith does
    std::optional<Metric> of_file;  // the metric that the file names
    MetricFrom metric_from = MetricFrom::options;
};

Subject subject_of(const Args& args) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
    if (args.result.empty() == args.ids.empty()) {
        refuse("expected one file of neighbours: kith verify RESULT, or --ids FILE");
    }
    if (args.graph && !args.queries.empty()) {
        refuse("expected either --queries, or --graph for a graph of the base");
    }
    Subject subject;
    subject.ids = args.ids.empty() ? args.result : args.ids;
    const ResultFile file(subject.ids);
    const bool own_base = args.base.empty() && file.has("train");
    if (args.base.empty() && !own_base) {
        refuse(fmt::format("--base is missing: {} holds no points (data set train)", subject.ids));
    }
    subject.base = own_base ? file.part("train") : args.base;
    // A file with points and no queries is a graph of them.
    subject.graph = args.graph || (args.queries.empty() && own_base && !file.has("test"));
    if (!subject.graph) {
        if (args.queries.empty() && !file.has("test")) {
            refuse(fmt::format("--queries is missing (or --graph): {} holds no queries (data set test)", subject.ids));
        }
        subject.queries = args.queries.empty() ? file.part("test") : args.queries;
    }
    const DistanceArgs& distance = args.distance;
    const bool named = distance.metric_given->count() > 0 || !distance.formula.empty();
    try {
        subject.of_file = file.metric(subject.by_kith);
    } catch (const Error&) {
        if (!named) throw;
    }
    if (!named) subject.metric_from = subject.of_file ? MetricFrom::file : MetricFrom::assumed;
    subject.distances = args.distances;
    if (subject.distances.empty() && !args.result.empty() && file.has("distances")) subject.distances = subject.ids;
    if (!args.distances.empty() || !subject.of_file) subject.by_kith = true;
    return subject;
}

// Where the metric is from, and of another metric than the file's that it may be the mistake.
std::string metric_text(const Subject& subject, const Metric& metric, bool exact) {
    if (subject.metric_from == MetricFrom::file) {
        return fmt::format("metric: {}, as {} says\n", name(metric.id), subject.ids);
    }
    if (subject.metric_from == MetricFrom::assumed) {
        return fmt::format("metric: {}, assumed: the file names none; -m says otherwise\n", name(metric.id));
    }
    if (exact || !subject.of_file || subject.of_file->id == metric.id) return "";
    return fmt::format("metric: {}, but {} says that it holds {}\n", name(metric.id), subject.ids,
                       name(subject.of_file->id));
}

void report(const Args& args, const Subject& subject, const Metric& metric, const Listed& listed,
            const Neighbors& expected, const Outcome& outcome, double seconds) {
    if (args.output.json) {
        Json object = {{"command", "verify"},         {"kith", KITH_VERSION},
                       {"metric", to_json(metric)},   {"metric_from", word(subject.metric_from)},
                       {"graph", subject.graph},      {"exact", outcome.is_exact()},
                       {"recall", outcome.recall()},  {"k", listed.k},
                       {"rows", listed.rows},         {"rows_checked", outcome.rows()},
                       {"rows_exact", outcome.exact}, {"rows_tied", outcome.tied},
                       {"rows_wrong", outcome.wrong}};
        if (!listed.distances.empty()) {
            object["distances"] = {{"compared", outcome.distances.compared},
                                   {"different", outcome.distances.different},
                                   {"largest_ulp", outcome.distances.largest_ulp}};
            if (outcome.distances.nan > 0) object["distances"]["nan"] = outcome.distances.nan;
            if (!subject.by_kith) object["distances"]["largest_share"] = outcome.distances.largest_share;
        }
        if (outcome.first_wrong) object["first_wrong"] = first_wrong_json(listed, expected, outcome);
        object["device"] = expected.report.device;
        object["threads"] = expected.report.threads;
        object["seconds"] = seconds;
        print_json(object);
        return;
    }
    const char* verdict = !outcome.is_exact() ? "NOT exact"
                          : outcome.tied > 0  ? "exact up to ties listed in another order"
                                              : "exact";
    fmt::print("{}: recall {:.7g}; of {} checked, k {}: {} exact, {} tied, {} wrong\n", verdict, outcome.recall(),
               counted(outcome.rows(), "row", "rows"), listed.k, grouped(outcome.exact), grouped(outcome.tied),
               grouped(outcome.wrong));
    fmt::print("{}", metric_text(subject, metric, outcome.is_exact()));
    if (listed.first == 1) fmt::print("graph: each row begins with its own point, k counts the others\n");
    const std::string nan =
        outcome.distances.nan > 0 ? fmt::format("; {} of them NaN", grouped(outcome.distances.nan)) : "";
    if (!listed.distances.empty() && !subject.by_kith) {
        fmt::print(
            "distances: not kith's, so not compared bit for bit; they differ by at most {:.2g} of their value{}{}\n",
            outcome.distances.largest_share,
            outcome.distances.largest_share > 0.01 ? " (another convention of the same order?)" : "", nan);
    } else if (!listed.distances.empty()) {
        fmt::print("distances: {} of {} differ as f32, by at most {} ulp{}\n", grouped(outcome.distances.different),
                   grouped(outcome.distances.compared), grouped(outcome.distances.largest_ulp), nan);
    }
    if (outcome.first_wrong) print_first_wrong(listed, expected, outcome);
    if (!args.output.quiet) say("recomputed on {} in {}\n", expected.report.device, duration(expected.report.seconds));
}

int execute(const Args& args) {
    const Stopwatch time;
    const Subject subject = subject_of(args);
    std::vector<double> numbers;
    Options options;
    options.metric = subject.metric_from == MetricFrom::file ? *subject.of_file : make_metric(args.distance, numbers);
    options.f64 = true;
    set_execution(args.execution, options);
    Inputs inputs(args.input, options.memory);
    const auto [base, own_queries] =
        inputs.points_and_queries(part_of(subject.base, inputs.format(), "train"),
                                  subject.graph ? "" : part_of(subject.queries, inputs.format(), "test"));
    const Matrix& queries = subject.graph ? base : own_queries;
    const Listed listed = load_listed(subject.ids, subject.distances, queries.info.rows, args.k, subject.graph);
    inputs.take(static_cast<double>(listed.ids.size() + listed.distances.size()) * sizeof(std::int64_t), subject.ids);
    const std::vector<std::int64_t> rows = sampled_rows(listed.rows, args.sample);
    inputs.take(result_bytes(static_cast<std::int64_t>(rows.size()), listed.k + 1), "the result");
    options.memory = inputs.memory_left();
    const MatrixView base_view = base.view();
    const MatrixView queries_view = queries.view();
    if (options.metric.id == MetricId::mahalanobis && !options.metric.inverse_covariance.data) {
        // Estimated from all points, once: a row is verified against few of them.
        numbers = kith::inverse_covariance(base_view);
        options.metric.inverse_covariance = view(numbers.data(), base_view.cols, base_view.cols);
    }
    if (options.metric.id == MetricId::seuclidean && !options.metric.variances.data) {
        numbers = variances(base_view);
        options.metric.variances = view(numbers.data(), base_view.cols, 1);
    }

    Neighbors expected;
    {
        ProgressBar bar(!args.output.quiet);
        options.progress = bar.callback();
        expected = recompute(base_view, queries_view, rows, listed.k, options, subject.graph);
    }
    stop_if_interrupted();
    options.progress = [](const Progress&) { return !interrupted(); };
    Outcome outcome =
        compare_lists(listed, expected, rows, RowChecker(base_view, queries_view, options, subject.graph));
    outcome.distances_may_differ = !subject.by_kith;
    report(args, subject, options.metric, listed, expected, outcome, time.seconds());
    if (!args.output.json && !args.output.quiet) say_text(inputs.text());
    return outcome.is_exact() ? exit_ok : exit_not_exact;
}

}  // namespace

void add_verify(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("verify", "Is a file of neighbours exact? Exit code 1 if it is not");
    command->footer("Ties listed in another order count as exact, and are reported.");
    const char* group = "Input";
    command
        ->add_option("result", args->result,
                     "An .hdf5 file of neighbours: metric, points (train), queries (test) and distances are its own "
                     "where it holds them and no option says otherwise")
        ->type_name("FILE");
    command->add_option("-b,--base", args->base, "The points, one a row")->type_name("FILE")->group(group);
    command->add_option("-q,--queries", args->queries, "The queries, one a row")->type_name("FILE")->group(group);
    command->add_flag("--graph", args->graph, "Instead of --queries: the file is a graph of the base")->group(group);
    command
        ->add_option("--ids", args->ids, "The neighbours: a matrix of ids, an ann-benchmarks .hdf5 or a big-ann truth")
        ->type_name("FILE")
        ->group(group);
    command->add_option("--distances", args->distances, "Their distances, to be compared bit for bit as f32")
        ->type_name("FILE")
        ->group(group);
    add_input(*command, args->input, "base and queries, where their names do not say");
    add_count(*command, "-k", args->k, "Check the first K ids of each row only", 1)->type_name("K")->group(group);
    add_count(*command, "--sample", args->sample, "Check N rows, evenly spaced, instead of all", 1)
        ->type_name("N")
        ->group(group);
    add_distance(*command, args->distance);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
