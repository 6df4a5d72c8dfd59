// kith groundtruth status: how far a job is, and who is at it.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>

#include "groundtruth/commands.h"
#include "groundtruth/survey.h"
#include "options.h"
#include "print.h"

namespace kith::cli::groundtruth {
namespace {

// Of claims that do not say theirs.
constexpr double unknown_lease = 60;

struct Args {
    std::string folder;
    bool json = false;
};

Json worker_json(const Job& job, const ClaimedUnit& worker) {
    const Seen& claim = worker.claim;
    Json json = {{"unit", claim.name},
                 {"host", nullptr},
                 {"pid", nullptr},
                 {"share", claim.standing.share},
                 {"pairs", claim.standing.pairs},
                 {"seconds", claim.standing.seconds},
                 {"silent_seconds", claim.age},
                 {"stale", claim.stale}};
    json["shard"] = job.unit(worker.unit).shard;
    json["block"] = job.unit(worker.unit).block;
    if (claim.process) {
        json["host"] = claim.process->host;
        json["pid"] = claim.process->pid;
    }
    return json;
}

void print_worker(const ClaimedUnit& worker) {
    const Seen& claim = worker.claim;
    const std::string who =
        claim.process ? fmt::format("{} (pid {})", claim.process->host, claim.process->pid) : "an unknown worker";
    const Standing& at = claim.standing;
    if (claim.stale) {
        fmt::print("{}  left behind by {}, not heard of for {}\n", claim.name, who, duration(claim.age));
    } else {
        fmt::print("{}  {:3.0f} % by {}{}\n", claim.name, 100 * at.share, who,
                   at.seconds > 0 ? fmt::format(", {}", pair_rate(at.pairs, at.seconds)) : "");
    }
}

int execute(const Args& args) {
    const Job job = read_job(args.folder);
    Claims claims(job.claims(), unknown_lease);
    const Survey survey = Surveyor(job, claims).look(false);
    if (args.json) {
        Json json = {{"command", "groundtruth status"}};
        json.update(job_json(job));
        json["done"] = survey.units_done;
        json["complete"] = survey.is_complete();
        json["pairs"] = survey.pairs;
        json["pairs_done"] = survey.pairs_done;
        json["distances_per_second"] = survey.rate;
        const auto left = survey.seconds_left();
        json["seconds_left"] = left ? Json(*left) : Json(nullptr);
        json["workers"] = Json::array();
        for (const ClaimedUnit& worker : survey.claimed) json["workers"].push_back(worker_json(job, worker));
        print_json(json);
        return exit_ok;
    }
    fmt::print("{} of {} x {}, {}, k {}\n", job.graph ? "graph" : "search",
               counted(job.queries.count, "query", "queries"), counted(job.base.count, "point", "points"),
               name(job.metric.id), job.k);
    fmt::print("{}\n", described(survey));
    for (const ClaimedUnit& worker : survey.claimed) print_worker(worker);
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
