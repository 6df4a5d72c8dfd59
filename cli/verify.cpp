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
#include "interrupt.h"
#include "json.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"

namespace kith::cli {
namespace {

constexpr std::int64_t shown_places = 10;

struct Args {
    std::string base;
    std::string queries;
    bool graph = false;
    std::string ids;
    std::string distances;
    std::string format;
    std::int64_t k = 0;
    std::int64_t sample = 0;
    DistanceArgs distance;
    SpeedArgs speed;
    VoiceArgs voice;
};

// Result files: a bare HDF5 name is ann-benchmarks', and a .bin may be big-ann's.
Matrix load_result(const std::string& path, const char* hdf5_name, const char* truth_name) {
    if (is_hdf5(path)) return load_matrix(path + "/" + hdf5_name, "");
    const bool truth = path.ends_with(".truth") || path.ends_with(".gt") ||
                       ((path.ends_with(".bin") || path.ends_with(".ibin")) && is_big_ann_truth(path));
    return truth ? load_matrix(path + "/" + truth_name, "truth") : load_matrix(path, "");
}

struct Listed {
    std::int64_t rows = 0;
    std::int64_t stride = 0;  // ids of a row in the file
    std::int64_t k = 0;       // those to check
    std::vector<std::int64_t> ids;
    std::vector<double> distances;
};

Listed load_listed(const Args& args, std::int64_t q) {
    Listed listed;
    const Matrix ids = load_result(args.ids, "neighbors", "ids");
    listed.rows = ids.info.rows;
    listed.stride = ids.info.cols;
    listed.k = args.k > 0 ? args.k : listed.stride;
    if (listed.rows != q) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has {}, and there are {}", args.ids, counted(listed.rows, "row", "rows"),
                                counted(q, "query", "queries")));
    }
    if (listed.k > listed.stride) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("-k {}: {} has only {} ids in a row", listed.k, args.ids, listed.stride));
    }
    listed.ids = to_ids(ids, args.ids);
    if (!args.distances.empty()) {
        const Matrix distances = load_result(args.distances, "distances", "distances");
        if (distances.info.rows != listed.rows || distances.info.cols != listed.stride) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} is {} x {}, and {} is {} x {}", args.distances, distances.info.rows,
                                    distances.info.cols, args.ids, listed.rows, listed.stride));
        }
        listed.distances = to_doubles(distances);
    }
    return listed;
}

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

    std::int64_t rows() const { return exact + tied + wrong; }
    double recall() const { return present > 0 ? static_cast<double>(hits) / static_cast<double>(present) : 1.0; }
    bool is_exact() const { return wrong == 0 && distances.different == 0; }
};

Outcome judge(const Listed& listed, const Neighbors& expected, const std::vector<std::int64_t>& rows,
              const RowJudge& row_judge) {
    Outcome outcome;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        stop_if_interrupted();
        const auto k = static_cast<std::size_t>(listed.k);
        const auto file_row = static_cast<std::size_t>(rows[i] * listed.stride);
        const RowCheck row = row_judge.check(rows[i], listed.k, listed.ids.data() + file_row,
                                             expected.ids.data() + i * k, expected.distances64.data() + i * k);
        outcome.hits += row.hits;
        outcome.present += row.present;
        ++(row.verdict == Verdict::exact ? outcome.exact : row.verdict == Verdict::tied ? outcome.tied : outcome.wrong);
        for (std::size_t j = 0; j < k && !listed.distances.empty(); ++j) {
            outcome.distances.compare(listed.distances[file_row + j], row.distances[j]);
        }
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
        const std::int64_t id = listed.ids[static_cast<std::size_t>(outcome.first_wrong_row * listed.stride) + place];
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
        row["listed_ids"].push_back(listed.ids[static_cast<std::size_t>(outcome.first_wrong_row * listed.stride) + j]);
        row["listed_distances"].push_back(outcome.first_wrong->distances[j]);
        row["expected_ids"].push_back(expected.ids[at]);
        row["expected_distances"].push_back(expected.distances64[at]);
    }
    return row;
}

void report(const Args& args, const Listed& listed, const Neighbors& expected, const Outcome& outcome, double seconds) {
    if (args.voice.json) {
        Json object = {{"command", "verify"},
                       {"kith", KITH_VERSION},
                       {"exact", outcome.is_exact()},
                       {"recall", outcome.recall()},
                       {"k", listed.k},
                       {"rows", listed.rows},
                       {"rows_checked", outcome.rows()},
                       {"rows_exact", outcome.exact},
                       {"rows_tied", outcome.tied},
                       {"rows_wrong", outcome.wrong}};
        if (!listed.distances.empty()) {
            object["distances"] = {{"compared", outcome.distances.compared},
                                   {"different", outcome.distances.different},
                                   {"largest_ulp", outcome.distances.largest_ulp}};
        }
        if (outcome.first_wrong) object["first_wrong"] = first_wrong_json(listed, expected, outcome);
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
    if (!listed.distances.empty()) {
        fmt::print("distances: {} of {} differ as f32, by at most {} ulp\n", grouped(outcome.distances.different),
                   grouped(outcome.distances.compared), grouped(outcome.distances.largest_ulp));
    }
    if (outcome.first_wrong) print_first_wrong(listed, expected, outcome);
}

int execute(const Args& args) {
    const Stopwatch time;
    if (args.graph != args.queries.empty()) {
        throw Error(ErrorCode::invalid_argument, "expected either --queries, or --graph for a graph of the base");
    }
    std::vector<double> inverse_covariance;
    Options options;
    options.metric = make_metric(args.distance, inverse_covariance);
    options.f64 = true;
    set_speed(args.speed, options);
    const Matrix base = load_matrix(args.base, args.format);
    const Matrix own_queries = args.graph ? Matrix{} : load_matrix(args.queries, args.format);
    const Matrix& queries = args.graph ? base : own_queries;
    const Listed listed = load_listed(args, queries.info.rows);
    const std::vector<std::int64_t> rows = sampled_rows(listed.rows, args.sample);
    const MatrixView base_view = base.view();
    const MatrixView queries_view = queries.view();
    if (options.metric.id == MetricId::mahalanobis && !options.metric.inverse_covariance.data) {
        // Estimated from all points, once: a row is judged among few of them.
        inverse_covariance = kith::inverse_covariance(base_view);
        options.metric.inverse_covariance = view(inverse_covariance.data(), base_view.cols, base_view.cols);
    }

    Neighbors expected;
    {
        ProgressBar bar(!args.voice.quiet);
        options.progress = bar.callback();
        expected = recompute(base_view, queries_view, rows, listed.k, options, args.graph);
    }
    stop_if_interrupted();
    options.progress = [](const Progress&) { return !interrupted(); };
    const Outcome outcome = judge(listed, expected, rows, RowJudge(base_view, queries_view, options, args.graph));
    report(args, listed, expected, outcome, time.seconds());
    return outcome.is_exact() ? exit_ok : exit_not_exact;
}

}  // namespace

void add_verify(CLI::App& app, Run& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("verify", "Is a file of neighbours exact? Exit code 1 if it is not");
    command->footer("Ties listed in another order count as exact, and are reported.");
    const char* group = "Input";
    command->add_option("-b,--base", args->base, "The points, one a row")->type_name("FILE")->required()->group(group);
    command->add_option("-q,--queries", args->queries, "The queries, one a row")->type_name("FILE")->group(group);
    command->add_flag("--graph", args->graph, "Instead of --queries: the file is a graph of the base")->group(group);
    command
        ->add_option("--ids", args->ids, "The neighbours: a matrix of ids, an ann-benchmarks .hdf5 or a big-ann truth")
        ->type_name("FILE")
        ->required()
        ->group(group);
    command->add_option("--distances", args->distances, "Their distances, to be compared bit for bit as f32")
        ->type_name("FILE")
        ->group(group);
    command->add_option("--format", args->format, "Format of base and queries, where their names do not say")
        ->type_name("NAME")
        ->group(group);
    add_count(*command, "-k", args->k, "Check the first K ids of each row only", 1)->type_name("K")->group(group);
    add_count(*command, "--sample", args->sample, "Check N rows, evenly spaced, instead of all", 1)
        ->type_name("N")
        ->group(group);
    add_distance(*command, args->distance);
    add_speed(*command, args->speed);
    add_voice(*command, args->voice);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
