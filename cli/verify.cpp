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

#include "command.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/cut.h"
#include "kith/verify.h"
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

// At the first fault, what was found next to what should be.
void print_first_wrong(const Listed& listed, const Verification& found) {
    const WrongRow& row = found.first_wrong.front();
    fmt::print("first wrong row: {}: {}\n", row.row, row.why);
    const auto line = [](const std::string& text, const std::string& told, bool marked) {
        fmt::print("{}{}{}\n", text, told.empty() ? "" : fmt::format("{:>28}", told), marked ? "   <" : "");
    };
    const bool distances = !listed.distances.empty();
    line(fmt::format("{:>8}  {:>12}  {:<24}{:>12}  {}", "place", "listed id", "distance", "should be", "distance"),
         distances ? "listed distance" : "", false);
    const std::int64_t first = std::max<std::int64_t>(0, std::min(row.place - 1, listed.k - shown_places));
    for (std::int64_t j = first; j < std::min(listed.k, first + shown_places); ++j) {
        const auto place = static_cast<std::size_t>(j);
        const std::int64_t id = listed.ids[listed.at(row.row, j)];
        const std::string distance =
            std::isnan(row.distances[place]) ? "not a neighbour" : fmt::format("{}", row.distances[place]);
        line(fmt::format("{:>8}  {:>12}  {:<24}{:>12}  {}", j + 1, id, distance, row.expected_ids[place],
                         row.expected_distances[place]),
             distances ? fmt::format("{}", listed.distances[listed.at(row.row, j)]) : "",
             id != row.expected_ids[place] || j == row.place);
    }
}

Json first_wrong_json(const Listed& listed, const WrongRow& row) {
    Json object = {{"row", row.row}, {"place", row.place}, {"why", row.why}};
    for (std::int64_t j = 0; j < listed.k; ++j) object["listed_ids"].push_back(listed.ids[listed.at(row.row, j)]);
    object["listed_distances"] = row.distances;
    object["expected_ids"] = row.expected_ids;
    object["expected_distances"] = row.expected_distances;
    return object;
}

enum class MetricFrom { file, options, assumed };

const char* word(MetricFrom from) {
    return from == MetricFrom::file ? "file" : from == MetricFrom::options ? "options" : "assumed";
}

// The file to verify, from the options and from what the file says of itself.
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
    if (subject.distances.empty() && !args.result.empty() && file.holds_distances()) subject.distances = subject.ids;
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

// Which distances were compared, how, and what came of it; a line.
std::string distances_text(const Verification& found) {
    const std::string nan = found.nan > 0 ? fmt::format("; {} of them NaN", grouped(found.nan)) : "";
    switch (found.compared) {
        case DistancesCompared::none:
            return "distances: not compared, none were given (--distances)\n";
        case DistancesCompared::nearly:
            return fmt::format(
                "distances: not kith's, so not compared bit for bit; they differ by at most {:.2g} of their "
                "value{}{}\n",
                found.largest_share,
                found.different > 0 ? fmt::format("; {} of {} by more than a thousandth of the largest (another "
                                                  "convention? --ids FILE leaves them out)",
                                                  grouped(found.different), grouped(found.distances))
                                    : "",
                nan);
        default:
            return fmt::format("distances: {} of {} differ as {}, by at most {} ulp{}\n", grouped(found.different),
                               grouped(found.distances), name(found.compared), grouped(found.largest_ulp), nan);
    }
}

void print_report(const Subject& subject, const Metric& metric, const Listed& listed, const Verification& found) {
    fmt::print("{}: recall {:.7g}; of {} checked, k {}: {} exact, {} tied, {} wrong\n", found.verdict(), found.recall(),
               counted(found.rows, "row", "rows"), listed.k - (found.include_self ? 1 : 0), grouped(found.exact),
               grouped(found.tied), grouped(found.wrong));
    if (found.rows < found.all_rows)
        fmt::print("rows: {} of {} were not looked at (--sample)\n", grouped(found.all_rows - found.rows),
                   grouped(found.all_rows));
    fmt::print("{}", metric_text(subject, metric, found.is_exact()));
    if (found.include_self) fmt::print("graph: each row begins with its own point, k counts the others\n");
    fmt::print("{}", distances_text(found));
    if (found.wrong > 0 && found.only_distances == found.wrong)
        fmt::print("the neighbours are right, and distances alone are not; --ids FILE looks at the neighbours only\n");
    if (found.first_wrong.empty()) return;
    print_first_wrong(listed, found);
    for (std::size_t i = 1; i < found.first_wrong.size(); ++i)
        fmt::print("wrong row: {}: {}\n", found.first_wrong[i].row, found.first_wrong[i].why);
    const auto told = static_cast<std::int64_t>(found.first_wrong.size());
    if (told < found.wrong) fmt::print("and {} more\n", counted(found.wrong - told, "wrong row", "wrong rows"));
}

Json json_of(const Subject& subject, const Metric& metric, const Listed& listed, const Verification& found) {
    Json object = {{"command", "verify"},
                   {"kith", KITH_VERSION},
                   {"metric", to_json(metric)},
                   {"metric_from", word(subject.metric_from)},
                   {"graph", subject.graph},
                   {"include_self", found.include_self},
                   {"exact", found.is_exact()},
                   {"verdict", found.verdict()},
                   {"recall", found.recall()},
                   {"k", listed.k - (found.include_self ? 1 : 0)},
                   {"rows", listed.rows},
                   {"rows_checked", found.rows},
                   {"rows_exact", found.exact},
                   {"rows_tied", found.tied},
                   {"rows_wrong", found.wrong},
                   {"rows_of_wrong_distances", found.only_distances},
                   {"distances_compared", name(found.compared)}};
    if (found.compared != DistancesCompared::none) {
        object["distances"] = {
            {"compared", found.distances}, {"different", found.different}, {"largest_ulp", found.largest_ulp}};
        if (found.nan > 0) object["distances"]["nan"] = found.nan;
        if (found.compared == DistancesCompared::nearly) object["distances"]["largest_share"] = found.largest_share;
    }
    if (!found.first_wrong.empty()) {
        object["first_wrong"] = first_wrong_json(listed, found.first_wrong.front());
        for (const WrongRow& row : found.first_wrong)
            object["wrong"].push_back({{"row", row.row}, {"place", row.place}, {"why", row.why}});
    }
    return object;
}

int execute(const Args& args) {
    const Stopwatch time;
    const Subject subject = subject_of(args);
    std::vector<double> numbers;
    VerifyOptions options;
    options.search.metric =
        subject.metric_from == MetricFrom::file ? *subject.of_file : make_metric(args.distance, numbers);
    set_execution(args.execution, options.search);
    options.sample = args.sample;
    options.distances_of_others = !subject.by_kith;
    Inputs inputs(args.input, options.search.memory);
    const auto [base, queries] =
        inputs.points_and_queries(part_of(subject.base, inputs.format(), "train"),
                                  subject.graph ? "" : part_of(subject.queries, inputs.format(), "test"));
    const std::int64_t found_rows = subject.graph ? base.info.rows : queries.info.rows;
    const Listed listed = load_listed(subject.ids, subject.distances, found_rows, args.k);
    inputs.take(static_cast<double>(listed.ids.size() + listed.distances.size()) * sizeof(std::int64_t), subject.ids);
    const std::int64_t judged = args.sample > 0 ? std::min(args.sample, listed.rows) : listed.rows;
    inputs.take(result_bytes(judged, listed.k + 1), "the result");
    options.search.memory = inputs.memory_left();
    const std::vector<float> narrow =
        listed.f64 ? std::vector<float>{} : std::vector<float>(listed.distances.begin(), listed.distances.end());
    FoundNeighbors found(view(listed.ids.data(), listed.rows, listed.k, listed.stride));
    if (!listed.distances.empty())
        found.distances = listed.f64 ? view(listed.distances.data(), listed.rows, listed.k, listed.stride)
                                     : view(narrow.data(), listed.rows, listed.k, listed.stride);
    Verification outcome;
    {
        ProgressBar bar(!args.output.quiet);
        options.search.progress = bar.callback();
        outcome = subject.graph ? verify_graph(base.view(), found, options)
                                : verify(base.view(), queries.view(), found, options);
    }
    stop_if_interrupted();
    if (args.output.json) {
        Json object = json_of(subject, options.search.metric, listed, outcome);
        object["device"] = outcome.report.device;
        object["threads"] = outcome.report.threads;
        object["seconds"] = time.seconds();
        print_json(object);
    } else {
        print_report(subject, options.search.metric, listed, outcome);
        if (!args.output.quiet)
            say("recomputed on {} in {}\n{}", outcome.report.device, duration(outcome.report.seconds), inputs.text());
    }
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
                     "where it holds them and no option says otherwise; or a big-ann truth")
        ->type_name("FILE");
    command->add_option("-b,--base", args->base, "The points, one a row")->type_name("FILE")->group(group);
    command->add_option("-q,--queries", args->queries, "The queries, one a row")->type_name("FILE")->group(group);
    command->add_flag("--graph", args->graph, "Instead of --queries: the file is a graph of the base")->group(group);
    command
        ->add_option("--ids", args->ids, "The neighbours: a matrix of ids, an ann-benchmarks .hdf5 or a big-ann truth")
        ->type_name("FILE")
        ->group(group);
    command->add_option("--distances", args->distances, "Their distances, to be compared bit for bit")
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
