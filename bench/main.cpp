// kith-bench: times one search or selection, or the suite of named ones, next to the limits of this machine; and the
// papers' tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <utility>

#include "document.h"
#include "gpu/backend.h"
#include "machine/parallel.h"
#include "machine_limits.h"
#include "papers/study.h"
#include "search/goal_study.h"
#include "search/host_points.h"
#include "search/rule_regret.h"
#include "search/streams.h"
#include "search/tables.h"
#include "select/study.h"
#include "workload.h"

namespace {

using kith::bench::Json;
using kith::bench::Limits;
using kith::bench::Result;
using kith::bench::Timing;
using kith::bench::Workload;

constexpr int time_is_up = 4;  // exit status

struct Args {
    Workload workload;
    kith::Options options;
    std::string metric = "sqeuclidean", formula;
    int repeat = 7;
    bool quick = false;
    std::string json;
    std::string data = "gaussian", type = "f32";
    kith::bench::GoalStudy goals;
    kith::bench::StreamStudy streams;
    kith::bench::HostPointsStudy host_points;
    kith::bench::TableStudy tables;
    kith::bench::RuleStudy rule;
    kith::bench::Study study;
    kith::bench::PaperStudy papers;
    double seconds = 0;
};

void add_common(CLI::App* command, Args& args) {
    command->add_option("--device", args.options.device, "auto, cpu, cuda, cuda:N; of a search cuda:0,1 or cuda:all")
        ->capture_default_str();
    command->add_option("--threads", args.options.threads, "CPU threads; 0: all");
    command->add_option("--memory", args.options.memory, "Bytes of workspace; 0: half of what is free");
    command->add_option("--isa", args.options.isa, "Force an instruction set: amx, avx512, avx2, baseline");
    command->add_option("--repeat", args.repeat, "Timed runs")->capture_default_str()->check(CLI::Range(1, 1000));
    command->add_option("--json", args.json, "Write the results there as JSON, too")->type_name("FILE");
}

void add_studies(CLI::App* select, kith::bench::Study& study) {
    CLI::Option* const table =
        select->add_option("--table", study.table, "A paper's table or figure: " + kith::bench::table_names())
            ->type_name("NAME");
    select->add_flag("--goals", study.goals, "What selection should reach, as shares of the read rate");
    CLI::Option* const regret = select->add_flag("--regret", study.regret,
                                                 "The planner's choice against every candidate, over a grid of shapes");
    select->add_flag("--small", study.small,
                     "Calls with little to select from: the planner's choice and every candidate");
    select
        ->add_flag("--hanak-rule", study.rule, "With --regret: judge the choice of Hanak 2023, 5.6, not the planner's")
        ->needs(regret);
    select->add_option("--times", study.times, "With --regret: take the times from an earlier --json file")
        ->type_name("FILE");
    select
        ->add_flag(
            "--mean", study.mean,
            "With --table: means and standard deviations of 10 runs behind 10 more (Hanak 2023, 5.1), not medians")
        ->needs(table);
    select->add_flag("--resume", study.resume, "With --table: go on where the --json file ends")->needs(table);
    select->add_option("--selectors", study.selectors, "Candidates of --goals, --regret and --small")->delimiter(',');
    select->add_flag("--quick", study.quick, "A small grid");
}

void add_goals(CLI::App* search, kith::bench::GoalStudy& goals) {
    using kith::bench::goal_names;
    search->add_flag("--goals", goals.goals, "What certified search on a GPU should reach, in place of one search");
    search->add_flag("--ordinary", goals.ordinary,
                     "Data of the kinds that people search, beside Gaussian data; -n (2^20 on a GPU, else 2^17), -q "
                     "(1,024) and -k count");
    search->add_flag("--quick", goals.inputs.quick,
                     "Of --goals: an eighth of the points and queries; of --ordinary, --table and --streamed: of the "
                     "points");
    search
        ->add_option("--only", goals.only,
                     "Of --goals: " + goal_names(kith::bench::search_goals()) +
                         "; of --ordinary: " + goal_names(kith::bench::ordinary_goals({}, false)))
        ->delimiter(',')
        ->type_name("NAME");
    search
        ->add_option("--images", goals.inputs.images, "Of --goals: points of u8 or f32 (Fashion-MNIST's train images)")
        ->type_name("FILE");
    search->add_option("--queries", goals.inputs.queries, "Of --goals: their queries (its test images)")
        ->type_name("FILE");
}

void add_tables(CLI::App* search, kith::bench::TableStudy& tables, kith::bench::StreamStudy& streams) {
    search
        ->add_option("--table", tables.table,
                     "A paper's table or figure, in place of one search: " + kith::bench::search_table_names())
        ->type_name("NAME");
    search->add_flag("--mean", tables.mean,
                     "Of --table hanak-...: means and standard deviations of 10 runs behind 10 more (Hanak 2023, 5.1)");
    search->add_flag("--resume", tables.resume, "With --table or --regret: go on where the --json file ends");
    search->add_option("--cpu-points", tables.cpu_points, "Of --table kato: the most points on one core (minutes)")
        ->capture_default_str();
    search->add_flag(
        "--streamed", streams.streamed,
        "16,777,216 x 128 points of host memory that stream through a GPU, beside the bus and resident points");
}

void add_papers(CLI::App* command, kith::bench::PaperStudy& papers) {
    command->add_option("name", papers.table, "A table or figure, see --list")->type_name("NAME");
    command->add_flag("--list", papers.list, "What there is");
    command->add_flag("--all", papers.all, "Every one, each into a file of the folder --json, then the drawings");
    command->add_flag("--resume", papers.resume, "Go on where the --json file ends, or those of the folder");
    command->add_option("--times", papers.times, "Take the cells that they share from the --json file of another table")
        ->type_name("FILE");
    command->add_option("--methods", papers.methods, "Only these")->delimiter(',')->type_name("NAME");
    command->add_flag("--mean", papers.mean,
                      "Means and standard deviations of 10 runs behind 10 more (Hanak 2023, 5.1), not medians");
    command->add_option("--limit", papers.limit, "Leave cells out that are expected to take more seconds")
        ->capture_default_str();
    command->add_flag("--quick", papers.quick, "A smaller grid");
}

// The least time that the machine could need: every point (value) read once, every multiply-add done once.
struct Floor {
    double seconds;
    const char* bound;
};

std::int64_t queries_of(const Workload& w) {
    return w.graph ? w.n : w.q;
}

// The timed call, besides the Index.
const char* call_of(const Workload& w) {
    return w.select ? "select" : w.graph ? "graph" : "search";
}

Floor least(const Workload& w, const Limits& limits) {
    const double values = static_cast<double>(w.n) * static_cast<double>(w.select ? w.q : w.d);
    const double memory = values * static_cast<double>(kith::size_of(w.type)) / limits.bytes;
    if (w.select) return {memory, "memory"};
    const double arithmetic = values * static_cast<double>(queries_of(w)) / limits.multiply_adds;
    return arithmetic > memory ? Floor{arithmetic, "f32"} : Floor{memory, "memory"};
}

void print_row(const Workload& w, const char* way, const Timing& t, const Floor& floor) {
    fmt::print(
        "{:<14} {:<8} {:>10} {:>8} {:>5} {:>6}  {:>10.2f} {:>10.2f} {:>10.2f} {:>10.3f}  {:>6.1f} % of {:<7} {}\n",
        w.name, way, w.n, queries_of(w), w.select ? 0 : w.d, w.k, 1e3 * t.median(), 1e3 * t.seconds.front(),
        1e3 * t.seconds.back(), 1e-9 * t.report.pairs / t.median(), 100 * floor.seconds / t.median(), floor.bound,
        t.report.path);
    std::fflush(stdout);
}

Json to_json(const Timing& t, const Floor& floor) {
    return {{"median_s", t.median()},
            {"min_s", t.seconds.front()},
            {"max_s", t.seconds.back()},
            {"pairs_per_s", t.report.pairs / t.median()},
            {"share_of_limit", floor.seconds / t.median()},
            {"path", t.report.path},
            {"device", t.report.device},
            {"certified", t.report.certified},
            {"retried", t.report.retried},
            {"scanned", t.report.scanned},
            {"candidates", t.report.candidates}};
}

Json to_json(const Result& r, const Floor& floor) {
    const Workload& w = r.workload;
    Json json{{"name", w.name}, {"n", w.n}, {"q", queries_of(w)}, {"d", w.d}, {"k", w.k}, {"limit", floor.bound}};
    json[call_of(w)] = to_json(r.once, floor);
    if (!w.select) {
        json["data"] = kith::bench::data_names[static_cast<int>(w.data)];
        json["type"] = kith::name(w.type);
        json["prepare_s"] = r.prepare_seconds;
        json["index_search"] = to_json(r.indexed, floor);
    }
    return json;
}

void run_all(const std::vector<Workload>& workloads, const Args& args) {
    // Where "auto" leads decides whose limits count.
    const kith::MetricId metric = args.options.metric.id;
    const kith::Plan plan = kith::bench::plan_of(served(workloads.front(), metric), args.options);
    const bool on_cpu = plan.device == kith::host_memory;
    const int threads = args.options.threads ? args.options.threads : kith::machine::default_threads();
    const Limits limits = on_cpu ? kith::bench::cpu_limits(threads) : kith::bench::cuda_limits(plan.device);
    fmt::print("limits: {:.0f} GFLOP/s, {:.1f} GB/s ({})\n", 2e-9 * limits.multiply_adds, 1e-9 * limits.bytes,
               limits.how);
    fmt::print("{:<14} {:<8} {:>10} {:>8} {:>5} {:>6}  {:>10} {:>10} {:>10} {:>10}  {:<19} {}\n", "workload", "way",
               "n", "q", "d", "k", "median ms", "min", "max", "G pair/s", "   of the limit", "path");
    Json results = Json::array();
    for (const Workload& each : workloads) {
        const Workload w = served(each, metric);
        const Result r = kith::bench::run(w, args.options, args.repeat);
        const Floor floor = least(w, limits);
        print_row(w, call_of(w), r.once, floor);
        if (!w.select) {
            print_row(w, "Index", r.indexed, floor);
            fmt::print("{:<14} {:<8} {:>51.2f}\n", w.name, "prepare", 1e3 * r.prepare_seconds);
        }
        results.push_back(to_json(r, floor));
    }
    if (args.json.empty()) return;
    Json document = kith::bench::head(on_cpu ? "cpu" : kith::gpu::device_info(plan.device).name, args.quick);
    document["metric"] = kith::name(metric);
    document["formula"] = args.formula;
    document["repeat"] = args.repeat;
    document["limits"] = {{"flops", 2 * limits.multiply_adds}, {"bytes_per_s", limits.bytes}, {"how", limits.how}};
    document["results"] = results;
    kith::bench::write(document, args.json);
}

int run_main(int argc, char** argv) {
    Args args;
    CLI::App app("kith-bench: times kith on seeded data beside the limits of this machine");
    app.require_subcommand(1);

    CLI::App* search = app.add_subcommand("search", "One search: search() and Index::search(); or the goals");
    search->add_option("-n,--n", args.workload.n, "Points")->capture_default_str();
    search->add_option("-q,--q", args.workload.q, "Queries")->capture_default_str();
    search->add_option("-d,--d", args.workload.d, "Dimensions")->capture_default_str();
    search->add_option("-k,--k", args.workload.k, "Neighbours")->capture_default_str();
    search->add_flag("--graph", args.workload.graph, "The points among themselves: graph() and Index::graph()");
    search->add_option("--data", args.data, fmt::format("{}", fmt::join(kith::bench::data_names, ", ")))
        ->capture_default_str();
    search->add_option("--type", args.type, "Elements: f32, f64, f16, bf16, i8, u8")->capture_default_str();
    add_goals(search, args.goals);
    add_tables(search, args.tables, args.streams);
    search->add_flag(
        "--host-points", args.host_points.asked,
        "An Index whose -n points, of --type f32 or u8, stay in host memory, beside the same points streaming");
    search->add_flag("--regret", args.rule.regret,
                     "The composed path that Hanak 2023, 5.6 takes against the others, over a grid of shapes");
    CLI::App* select = app.add_subcommand("select", "One selection: select()");
    select->add_option("--rows", args.workload.q, "Rows")->capture_default_str();
    select->add_option("--cols", args.workload.n, "Columns")->capture_default_str();
    select->add_option("-k,--k", args.workload.k, "Values of each row")->capture_default_str();
    select->add_option("--selector", args.options.selector, "Force a selector by name");
    select->add_flag("--largest", args.options.largest, "The largest values");
    add_studies(select, args.study);
    CLI::App* suite = app.add_subcommand("suite", "Named searches and selections");
    suite->add_flag("--quick", args.quick, "A tenth of the queries");
    for (CLI::App* command : {search, suite}) {
        CLI::Option* metric =
            command->add_option("-m,--metric", args.metric, "The distance, by name")->capture_default_str();
        command
            ->add_option("--formula", args.formula, "A formula in its place, of a, q and x, such as 'a + fabs(q - x)'")
            ->type_name("TEXT")
            ->excludes(metric);
        command->add_option("--path", args.options.path, "Force a path by name");
    }
    CLI::App* papers = app.add_subcommand("papers", "Tables and figures of the papers, beside the papers' figures");
    add_papers(papers, args.papers);
    CLI::Option* const seconds =
        papers->add_option("--seconds", args.seconds, "Begin no cell after that; --resume goes on");
    for (CLI::App* command : {search, select, suite, papers}) add_common(command, args);
    CLI11_PARSE(app, argc, argv);

    if (args.formula.empty()) {
        args.options.metric = kith::metric_named(args.metric);
    } else {
        args.options.metric.id = kith::MetricId::formula;
        args.options.metric.formula = args.formula;
    }
    if (papers->parsed()) {
        args.papers.repeat = args.repeat;
        args.papers.json = args.json;
        if (*seconds) args.papers.deadline = kith::bench::Deadline(args.seconds);
        return kith::bench::run(args.papers, args.options) ? 0 : 1;
    }
    if (args.study.asked()) {
        args.study.repeat = args.repeat;
        args.study.json = args.json;
        kith::bench::run(args.study, args.options);
        return 0;
    }
    if (args.tables.asked()) {
        args.tables.quick = args.goals.inputs.quick;
        args.tables.repeat = args.repeat;
        args.tables.json = args.json;
        return kith::bench::run(args.tables, args.options) ? 0 : 1;
    }
    if (args.streams.asked()) {
        args.streams.quick = args.goals.inputs.quick;
        args.streams.repeat = args.repeat;
        args.streams.json = args.json;
        return kith::bench::run(args.streams, args.options) ? 0 : 1;
    }
    if (args.host_points.asked) {
        args.host_points.n = args.workload.n;
        args.host_points.type = kith::bench::type_named(args.type);
        args.host_points.q = args.workload.q;
        args.host_points.d = args.workload.d;
        args.host_points.k = args.workload.k;
        args.host_points.repeat = args.repeat;
        args.host_points.json = args.json;
        return kith::bench::run(args.host_points, args.options) ? 0 : 1;
    }
    if (args.rule.asked()) {
        args.rule.quick = args.goals.inputs.quick;
        args.rule.repeat = args.repeat;
        args.rule.json = args.json;
        args.rule.resume = args.tables.resume;
        return kith::bench::run(args.rule, args.options) ? 0 : 1;
    }
    if (args.goals.asked()) {
        if (search->count("-n")) args.goals.shape.n = args.workload.n;
        if (search->count("-q")) args.goals.shape.q = args.workload.q;
        if (search->count("-k")) args.goals.shape.k = args.workload.k;
        args.goals.inputs.repeat = args.repeat;
        args.goals.json = args.json;
        return kith::bench::run(args.goals, args.options) ? 0 : 1;
    }
    args.workload.data = kith::bench::data_named(args.data);
    args.workload.type = kith::bench::type_named(args.type);
    args.workload.select = select->parsed();
    args.workload.name = select->parsed() ? "select" : "search";
    run_all(suite->parsed() ? kith::bench::suite(args.quick) : std::vector<Workload>{args.workload}, args);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    kith::bench::set_command(argc, argv);
    try {
        return run_main(argc, argv);
    } catch (const kith::Error& e) {
        fmt::print(stderr, "kith-bench: {}\n", e.what());
        const bool machine = e.code() == kith::ErrorCode::device || e.code() == kith::ErrorCode::out_of_memory;
        return machine ? 3 : 2;
    } catch (const kith::bench::TimeIsUp& e) {
        fmt::print(stderr, "kith-bench: {}\n", e.what());
        return time_is_up;
    } catch (const std::exception& e) {
        fmt::print(stderr, "kith-bench: {}\n", e.what());
        return 3;
    }
}
