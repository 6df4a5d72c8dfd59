// kith groundtruth verify: reads every unit that is done, and computes a sample of the queries again.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "files.h"
#include "groundtruth/commands.h"
#include "groundtruth/merged.h"
#include "groundtruth/search_unit.h"
#include "interrupt.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

struct Args {
    std::string folder;
    std::int64_t sample = 0;
    ExecutionArgs execution;
    OutputArgs output;
};

// Rows of a block that are computed again, and what the units say of them.
struct Sample {
    Matrix queries;
    std::vector<std::int64_t> numbers;  // among all queries
    PartialNeighbors listed;
    std::optional<PartialNeighbors> found;
};

PartialNeighbors rows_of(const PartialNeighbors& all, const std::vector<std::int64_t>& rows) {
    PartialNeighbors some{static_cast<std::int64_t>(rows.size()), all.k, all.dimensions, {}, {}};
    for (const std::int64_t row : rows) {
        some.ids.insert(some.ids.end(), all.ids.begin() + row * all.k, all.ids.begin() + (row + 1) * all.k);
        some.keys.insert(some.keys.end(), all.keys.begin() + row * all.k, all.keys.begin() + (row + 1) * all.k);
    }
    return some;
}

// The sampled rows of each block, counted within it: `sample` of all, evenly spaced.
std::map<std::int64_t, std::vector<std::int64_t>> chosen_rows(const Job& job, std::int64_t sample) {
    std::map<std::int64_t, std::vector<std::int64_t>> chosen;
    const std::int64_t count = std::min(sample, job.queries.count);
    std::int64_t block = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(job.queries.count) /
                                                   static_cast<double>(count));
        const auto piece = [&] { return job.queries.pieces[static_cast<std::size_t>(block)]; };
        while (row >= piece().first + piece().rows) ++block;
        chosen[block].push_back(row - piece().first);
    }
    return chosen;
}

// A full scan: no filter is trusted that made the units.
PartialNeighbors search_again(const Job& job, const Sample& sample, const Matrix& shard, std::int64_t first,
                              const Options& options) {
    const MatrixView queries = sample.queries.view();
    if (!job.graph) return search_shard(shard.view(), first, queries, job.k, options);
    PartialNeighbors all{0, job.k, job.base.cols, {}, {}};
    for (std::size_t i = 0; i < sample.numbers.size(); ++i) {
        const Matrix row = gather(queries, {static_cast<std::int64_t>(i)});
        const auto one = graph_shard(shard.view(), first, row.view(), sample.numbers[i], job.k, options);
        ++all.queries;
        all.ids.insert(all.ids.end(), one.ids.begin(), one.ids.end());
        all.keys.insert(all.keys.end(), one.keys.begin(), one.keys.end());
    }
    return all;
}

void compute_again(const Job& job, std::vector<Sample>& samples, const Options& options, ProgressBar& bar) {
    PieceReader shards = piece_reader(job.base);
    const bool reads_ahead = holds_two(job);
    for (std::int64_t shard = 0; shard < job.shards() && !samples.empty(); ++shard) {
        stop_if_interrupted();
        bar.draw("computing again", static_cast<double>(shard), static_cast<double>(job.shards()), 0);
        const RowPiece& piece = job.base.pieces[static_cast<std::size_t>(shard)];
        const Matrix& points = shards.hold(shard);
        if (reads_ahead && shard + 1 < job.shards()) shards.read_ahead(shard + 1);
        for (Sample& sample : samples) {
            PartialNeighbors part = search_again(job, sample, points, piece.first, options);
            if (sample.found) merge(*sample.found, part);
            else sample.found = std::move(part);
        }
    }
}

// The queries whose neighbours or keys differ in a bit.
std::vector<std::int64_t> different(const std::vector<Sample>& samples) {
    std::vector<std::int64_t> wrong;
    for (const Sample& sample : samples) {
        const auto k = static_cast<std::size_t>(sample.listed.k);
        for (std::size_t i = 0; i < sample.numbers.size(); ++i) {
            const bool same =
                std::equal(sample.listed.ids.begin() + static_cast<std::ptrdiff_t>(i * k),
                           sample.listed.ids.begin() + static_cast<std::ptrdiff_t>((i + 1) * k),
                           sample.found->ids.begin() + static_cast<std::ptrdiff_t>(i * k)) &&
                std::memcmp(&sample.listed.keys[i * k], &sample.found->keys[i * k], k * sizeof(double)) == 0;
            if (!same) wrong.push_back(sample.numbers[i]);
        }
    }
    return wrong;
}

struct Outcome {
    std::int64_t missing = 0;
    std::vector<std::string> damaged;
    std::int64_t computed = 0;  // queries, again
    std::int64_t left_out = 0;  // queries of the sample in blocks that are not complete
    std::vector<std::int64_t> wrong;

    bool is_exact() const { return damaged.empty() && wrong.empty(); }
    bool is_complete() const { return missing == 0 && damaged.empty(); }
};

void report(const Args& args, const Job& job, const Outcome& outcome, double seconds) {
    if (args.output.json) {
        Json json = {{"command", "groundtruth verify"}};
        json.update(job_json(job));
        json["exact"] = outcome.is_exact();
        json["complete"] = outcome.is_complete();
        json["missing"] = outcome.missing;
        json["damaged"] = outcome.damaged;
        json["sample"] = {{"computed", outcome.computed}, {"left_out", outcome.left_out}, {"wrong", outcome.wrong}};
        json["seconds"] = seconds;
        print_json(json);
        return;
    }
    const auto damaged = static_cast<std::int64_t>(outcome.damaged.size());
    fmt::print("{} of {} whole, {} damaged, {} not done\n", grouped(job.units() - outcome.missing - damaged),
               counted(job.units(), "unit", "units"), grouped(damaged), grouped(outcome.missing));
    for (const std::string& what : outcome.damaged) fmt::print("{}\n", what);
    if (args.sample > 0) {
        const auto wrong = static_cast<std::int64_t>(outcome.wrong.size());
        fmt::print("{} computed again: {} exact, {} wrong{}\n", counted(outcome.computed, "query", "queries"),
                   grouped(outcome.computed - wrong), grouped(wrong),
                   outcome.left_out > 0 ? fmt::format("; {} not done", grouped(outcome.left_out)) : "");
        if (wrong > 0) fmt::print("first wrong query: {}\n", outcome.wrong[0]);
    }
}

int execute(const Args& args) {
    const Stopwatch time;
    const Job job = read_job(args.folder);
    Options options;
    set_execution(args.execution, options);
    options = unit_options(job, options);
    if (options.path.empty()) options.path = name(Path::exact);
    options.progress = [](const Progress&) { return !interrupted(); };
    Outcome outcome;
    const auto chosen = chosen_rows(job, args.sample);
    std::vector<Sample> samples;
    {
        ProgressBar bar(!args.output.quiet);
        Merger merger(job);
        for (std::int64_t block = 0; block < job.blocks(); ++block) {
            bar.draw("reading units", static_cast<double>(block), static_cast<double>(job.blocks()), 0);
            const std::optional<PartialNeighbors> merged = merger.block(block);
            const auto rows = chosen.find(block);
            if (rows == chosen.end()) continue;
            if (!merged) {
                outcome.left_out += static_cast<std::int64_t>(rows->second.size());
                continue;
            }
            const RowPiece& piece = job.queries.pieces[static_cast<std::size_t>(block)];
            const Matrix queries = read_piece(job.queries, piece);
            Sample sample{gather(queries.view(), rows->second), {}, rows_of(*merged, rows->second), {}};
            for (const std::int64_t row : rows->second) sample.numbers.push_back(piece.first + row);
            outcome.computed += static_cast<std::int64_t>(rows->second.size());
            samples.push_back(std::move(sample));
        }
        outcome.missing = merger.missing();
        outcome.damaged = merger.damaged();
        compute_again(job, samples, options, bar);
    }
    outcome.wrong = different(samples);
    report(args, job, outcome, time.seconds());
    return outcome.is_exact() && outcome.is_complete() ? exit_ok : exit_not_exact;
}

}  // namespace

void add_verify(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("verify", "Are all units done and whole, and a sample exact? Exit code 1 if not");
    command->footer(
        "Reads every unit that is done. One that is damaged is renamed, so that kith groundtruth run does it again.\n"
        "With --sample, reads all points and their checksums too.");
    add_folder(*command, args->folder);
    add_count(*command, "--sample", args->sample,
              "Compute N queries, evenly spaced, again by a full scan, and compare ids and keys bit by bit", 1)
        ->type_name("N");
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
