// kith groundtruth status: how far a job is, and who is at it.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "groundtruth/commands.h"
#include "groundtruth/describe.h"
#include "options.h"
#include "print.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

constexpr std::size_t most_listed = 20;  // files

struct Args {
    std::string folder;
    bool json = false;
};

Json worker_json(const Worker& worker) {
    Json json = {{"unit", name(worker.unit)},
                 {"host", nullptr},
                 {"pid", nullptr},
                 {"share", worker.share},
                 {"pairs", worker.pairs},
                 {"seconds", worker.seconds},
                 {"silent_seconds", worker.silent_seconds},
                 {"stale", worker.stale}};
    json["shard"] = worker.unit.shard;
    json["block"] = worker.unit.block;
    if (worker.pid > 0) {
        json["host"] = worker.host;
        json["pid"] = worker.pid;
    }
    return json;
}

void print_worker(const Worker& worker) {
    const std::string unit = name(worker.unit);
    const std::string who =
        worker.pid > 0 ? fmt::format("{} (pid {})", printable(worker.host), worker.pid) : "an unknown worker";
    if (worker.stale) {
        fmt::print("{}  left behind by {}, not heard of for {}\n", unit, who, duration(worker.silent_seconds));
    } else {
        fmt::print("{}  {:3.0f} % by {}{}\n", unit, 100 * worker.share, who,
                   worker.seconds > 0 ? fmt::format(", {}", pair_rate(worker.pairs, worker.seconds)) : "");
    }
}

int execute(const Args& args) {
    const JobInfo job = info(args.folder);
    const Status found = status(args.folder);
    const std::vector<std::string> outside = files_outside(job);
    if (args.json) {
        Json json = {{"command", "groundtruth status"}};
        json.update(job_json(job));
        json["outside"] = outside;
        json["done"] = found.units_done;
        json["complete"] = found.is_complete();
        json["pairs"] = found.pairs;
        json["pairs_done"] = found.pairs_done;
        json["distances_per_second"] = found.rate;
        const auto left = found.seconds_left();
        json["seconds_left"] = left ? Json(*left) : Json(nullptr);
        json["workers"] = Json::array();
        for (const Worker& worker : found.workers) json["workers"].push_back(worker_json(worker));
        print_json(json);
        return exit_ok;
    }
    fmt::print("{} of {} x {}, {}, k {}\n", job.graph ? "graph" : "search",
               counted(job.queries.rows, "query", "queries"), counted(job.base.rows, "point", "points"),
               name(job.metric.id), job.k);
    const std::size_t listed = std::min(outside.size(), most_listed);
    for (std::size_t i = 0; i < listed; ++i) fmt::print("reads {}\n", printable(outside[i]));
    if (const std::size_t more = outside.size() - listed; more > 0)
        fmt::print("reads {} outside its folder (--json names all)\n",
                   counted(static_cast<std::int64_t>(more), "more file", "more files"));
    fmt::print("{}\n", described(found));
    for (const Worker& worker : found.workers) print_worker(worker);
    return exit_ok;
}

}  // namespace

void add_status(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("status", "How far it is: units, workers, rate and time left");
    add_folder(*command, args->folder);
    command->add_flag("--json", args->json, "One JSON object on standard output, nothing else");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
