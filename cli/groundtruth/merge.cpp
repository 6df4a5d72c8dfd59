// kith groundtruth merge: the files that one search would have written, from the units.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>

#include "files.h"
#include "groundtruth/commands.h"
#include "groundtruth/job_files.h"
#include "groundtruth/merged.h"
#include "interrupt.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli::groundtruth {
namespace {

struct Args {
    std::string folder;
    std::string ids;
    std::string distances;
    std::string out;
    bool f64 = false;
    bool force = false;
    OutputArgs output;
};

void check(const Args& args) {
    const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
    if (args.ids.empty() && args.distances.empty() && args.out.empty())
        refuse("expected a file to write: --out, --ids or --distances");
    if (args.f64 && kind_of(args.out) == OutKind::big_ann)
        refuse(fmt::format("--f64: a big-ann ground truth ('{}') holds f32; expected --out FILE.hdf5, or --distances",
                           args.out));
    if (args.f64 && args.distances.empty() && args.out.empty())
        refuse("--f64: the distances are written nowhere; expected --distances or --out besides --ids");
}

void open_outputs(OutputSet& outputs, const Args& args, const Job& job) {
    for (const Rows* rows : {&job.base, &job.queries}) {
        for (const RowFile& file : rows->files) outputs.reads("the job", file.path);
    }
    outputs.reads("the job", manifest_path(job.folder));
    if (!job.numbers.empty()) outputs.reads("the job", numbers_path(job));
    for (std::int64_t unit = 0; unit < job.units(); ++unit) outputs.reads("the job", job.unit_path(job.unit(unit)));
    if (!args.ids.empty()) outputs.add("--ids", with_data_set(args.ids, "neighbors"));
    if (!args.distances.empty()) outputs.add("--distances", with_data_set(args.distances, "distances"));
    const OutKind kind = kind_of(args.out);
    if (kind == OutKind::big_ann) outputs.add_big_ann_truth("--out", args.out);
    // A file that names a metric without its numbers says that they are those of the points.
    Metric named = job.metric;
    if (job.estimated) named.inverse_covariance = named.variances = {};
    if (kind == OutKind::ann_benchmarks) outputs.add_ann_benchmarks("--out", args.out, named, false, false);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
}

// The formats of --out take ids and distances whole.
void reserve(Neighbors& all, const Job& job, bool f64) {
    const auto cells = static_cast<std::size_t>(job.queries.count * job.k);
    require_memory(static_cast<std::int64_t>(cells * (sizeof(std::int64_t) + (f64 ? sizeof(double) : sizeof(float)))),
                   "the result, which --out takes whole (--ids and --distances do not)");
    all.queries = job.queries.count;
    all.k = job.k;
    all.ids.reserve(cells);
    if (f64) all.distances64.reserve(cells);
    else all.distances.reserve(cells);
}

void write_out(OutputSet& outputs, const Args& args, const Neighbors& all) {
    const OutKind kind = kind_of(args.out);
    if (kind == OutKind::big_ann) write_big_ann_truth(outputs, args.out, all);
    if (kind == OutKind::ann_benchmarks) write_ann_benchmarks(outputs, args.out, all, {}, {});
}

[[noreturn]] void refuse_incomplete(const Job& job, const Merger& merger) {
    const auto damaged = static_cast<std::int64_t>(merger.damaged().size());
    std::string why;
    if (damaged > 0)
        why = fmt::format("{} of {} damaged: {}", counted(damaged, "unit", "units"), job.units(), merger.damaged()[0]);
    if (merger.missing() > 0)
        why += fmt::format("{}{} of {} not done", why.empty() ? "" : "; ", counted(merger.missing(), "unit", "units"),
                           job.units());
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; kith groundtruth run {} does what is missing", job.folder, why, job.folder));
}

int execute(const Args& args) {
    const Stopwatch time;
    check(args);
    const Job job = read_job(args.folder);
    OutputSet outputs(args.force, [] { return !interrupted(); });
    open_outputs(outputs, args, job);
    ResultFiles results(outputs, with_data_set(args.ids, "neighbors"), with_data_set(args.distances, "distances"),
                        job.queries.count, job.k, args.f64);
    Options options;
    options.metric = job.metric;
    options.f64 = args.f64;
    const bool whole = !args.out.empty();
    Neighbors all;
    if (whole) reserve(all, job, args.f64);
    Merger merger(job);
    {
        ProgressBar bar(!args.output.quiet);
        for (std::int64_t block = 0; block < job.blocks(); ++block) {
            bar.draw("merging", static_cast<double>(block), static_cast<double>(job.blocks()), 0);
            const std::optional<PartialNeighbors> merged = merger.block(block);
            // What is damaged is found in one go.
            if (!merged || merger.missing() > 0 || !merger.damaged().empty()) continue;
            const Neighbors neighbors = finish(*merged, options);
            results.append(neighbors);
            if (!whole) continue;
            append(all.ids, neighbors.ids);
            append(all.distances, neighbors.distances);
            append(all.distances64, neighbors.distances64);
        }
    }
    if (merger.missing() > 0 || !merger.damaged().empty()) refuse_incomplete(job, merger);
    results.finish();
    if (whole) write_out(outputs, args, all);
    stop_if_interrupted();
    outputs.commit();

    Json files = Json::object();
    if (!args.ids.empty()) files["ids"] = args.ids;
    if (!args.distances.empty()) files["distances"] = args.distances;
    if (!args.out.empty()) files["out"] = args.out;
    if (args.output.json) {
        Json json = {{"command", "groundtruth merge"}};
        json.update(job_json(job));
        json["files"] = files;
        json["seconds"] = time.seconds();
        print_json(json);
    } else if (!args.output.quiet) {
        for (const auto& [what, path] : files.items())
            say("{} written to {}\n", what == "out" ? "result" : what, path.get<std::string>());
    }
    return exit_ok;
}

}  // namespace

void add_merge(CLI::App& app, Run& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("merge", "Write the result: the files of one search of everything");
    add_folder(*command, args->folder);
    const char* output = "Output";
    command->add_option("--ids", args->ids, "Write the ids: npy, ivecs, ibin, hdf5")->type_name("FILE")->group(output);
    command->add_option("--distances", args->distances, "Write the distances: npy, fvecs, fbin, hdf5")
        ->type_name("FILE")
        ->group(output);
    command->add_option("-o,--out", args->out, "Write both: .hdf5 (ann-benchmarks) or .truth, .gt, .bin (big-ann)")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    command->add_flag("--f64", args->f64, "Distances as f64 instead of f32")->group(output);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli::groundtruth
