// Options and outputs of the files of neighbours.
#include "results.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "say.h"

namespace kith::cli {

void add_result_files(CLI::App& command, ResultArgs& args, const char* group) {
    command.add_option("--ids", args.ids, "Write the ids: npy, ivecs, ibin, hdf5")->type_name("FILE")->group(group);
    command.add_option("--distances", args.distances, "Write the distances: npy, fvecs, fbin, hdf5")
        ->type_name("FILE")
        ->group(group);
    command.add_option("-o,--out", args.out, "Write both: .hdf5 (ann-benchmarks) or .truth, .gt, .bin (big-ann)")
        ->type_name("FILE")
        ->group(group);
}

void add_result_form(CLI::App& command, ResultArgs& args, const char* group) {
    command.add_flag("--force", args.force, "Replace data sets that an HDF5 file holds already")->group(group);
    command.add_flag("--f64", args.f64, "Distances as f64 instead of f32")->group(group);
}

void check_out(const ResultArgs& args) {
    if (kind_of(args.out) == OutKind::big_ann && args.f64) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--f64: a big-ann ground truth ('{}') holds f32; expected --out FILE.hdf5, or "
                                "--distances",
                                args.out));
    }
}

void open_results(OutputSet& outputs, const ResultArgs& args, const Metric& metric, bool train, bool test) {
    if (!args.ids.empty()) outputs.add("--ids", with_data_set(args.ids, "neighbors"));
    if (!args.distances.empty()) outputs.add("--distances", with_data_set(args.distances, "distances"));
    const OutKind kind = kind_of(args.out);
    if (kind == OutKind::big_ann) outputs.add_big_ann_truth("--out", args.out);
    if (kind == OutKind::ann_benchmarks) outputs.add_ann_benchmarks("--out", args.out, metric, train, test);
}

ResultFiles result_files(OutputSet& outputs, const ResultArgs& args, std::int64_t rows, std::int64_t k,
                         std::int64_t points) {
    if (kind_of(args.out) == OutKind::big_ann) require_narrow_ids(args.out, points);
    return {outputs, with_data_set(args.ids, "neighbors"), with_data_set(args.distances, "distances"), rows, k, points,
            args.f64};
}

void write_out(OutputSet& outputs, const ResultArgs& args, const Neighbors& neighbors, const MatrixView& base,
               const MatrixView& queries) {
    const OutKind kind = kind_of(args.out);
    if (kind == OutKind::big_ann) write_big_ann_truth(outputs, args.out, neighbors);
    if (kind == OutKind::ann_benchmarks) write_ann_benchmarks(outputs, args.out, neighbors, base, queries);
}

Json to_json(const ResultArgs& args) {
    Json files = Json::object();
    if (!args.ids.empty()) files["ids"] = args.ids;
    if (!args.distances.empty()) files["distances"] = args.distances;
    if (!args.out.empty()) files["out"] = args.out;
    return files;
}

void say_written(const Json& files) {
    for (const auto& [what, path] : files.items())
        say("{} written to {}\n", what == "out" ? "result" : what, path.get<std::string>());
}

void add_end(Json& object, std::initializer_list<std::pair<const char*, double>> times, const Json& files) {
    Json seconds = Json::object();
    for (const auto& [what, time] : times) seconds[fmt::format("{}_seconds", what)] = time;
    object["times"] = std::move(seconds);
    object["files"] = files;
}

void say_end(const OutputArgs& output, const std::string& text, const Json& files) {
    if (output.quiet) return;
    say_text(text);
    say_written(files);
}

}  // namespace kith::cli
