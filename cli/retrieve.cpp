// kith retrieve: images into order by the divergences of their patches.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "command.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "json.h"
#include "kith/retrieval.h"
#include "numbers.h"
#include "options.h"
#include "pnm.h"
#include "print.h"
#include "progress.h"
#include "say.h"

namespace kith::cli {
namespace {

constexpr std::int64_t precisions_printed = 10;

struct Args {
    std::vector<std::string> images;
    std::vector<std::int64_t> asked;
    std::int64_t k = 10, nearest = 5, seed = 0;
    std::string form = "nearest";
    bool both_ways = false;
    std::string labels, out, order;
    InputArgs input;
    bool force = false;
    DistanceArgs distance;
    ExecutionArgs execution;
    OutputArgs output;
};

// The samples of an image's scales, and what they lie in.
struct Samples {
    std::vector<FeatureSet> sets;
    std::vector<Matrix> files;
    std::vector<MatrixView> views() const {
        std::vector<MatrixView> out;
        for (const FeatureSet& set : sets) out.push_back(set.view());
        for (const Matrix& matrix : files) out.push_back(matrix.view());
        return out;
    }
};

Samples samples_of(const std::string& path, std::uint64_t seed, Inputs& inputs) {
    Samples out;
    if (is_picture(path)) {
        const Picture picture = read_picture(path);
        try {
            out.sets = image_features(picture.view(), picture.channels, seed);
        } catch (const Error& error) {
            throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
        }
        return out;
    }
    const std::vector<std::string> names =
        path.ends_with(".npz") || is_hdf5(path) ? data_sets(path) : std::vector<std::string>();
    for (const std::string& name : names) out.files.push_back(inputs.points(path + "/" + name));
    if (names.empty()) out.files.push_back(inputs.points(path));
    return out;
}

// The library counts images, the tool names their files: "image 1, scale 2: ..." as "b.npz, scale 2: ...".
std::string with_file_names(const std::string& message, const std::vector<std::string>& images) {
    constexpr std::string_view word = "image ";
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = message.find(word); at != std::string::npos; at = message.find(word, at + 1)) {
        const char* const end = message.data() + message.size();
        std::size_t image = 0;
        const auto [rest, error] = std::from_chars(message.data() + at + word.size(), end, image);
        if (error != std::errc() || image >= images.size()) continue;
        out += message.substr(from, at - from) + images[image];
        from = static_cast<std::size_t>(rest - message.data());
    }
    return out + message.substr(from);
}

std::string short_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

void print_rows(const Args& args, const Retrieved& found) {
    const auto rows = static_cast<std::int64_t>(found.asked.size()), others = found.images - 1;
    for (std::int64_t i = 0; i < std::min(rows, printed_rows); ++i) {
        const std::int64_t asks = found.asked[static_cast<std::size_t>(i)];
        std::string line = fmt::format("{}:", short_name(args.images[static_cast<std::size_t>(asks)]));
        for (std::int64_t j = 0; j < std::min(args.nearest, others); ++j) {
            const std::int64_t image = found.order[static_cast<std::size_t>(i * others + j)];
            line += fmt::format(" {} ({:.3g})", short_name(args.images[static_cast<std::size_t>(image)]),
                                found.divergences[static_cast<std::size_t>(i * found.images + image)]);
        }
        fmt::print("{}\n", line);
    }
    if (rows > printed_rows) fmt::print("...\n");
}

// The rows of print_rows(); a divergence that is not finite is null.
Json json_of(const Args& args, const Retrieved& found) {
    const auto rows = static_cast<std::int64_t>(found.asked.size()), others = found.images - 1;
    Json out = Json::array();
    for (std::int64_t i = 0; i < std::min(rows, printed_rows); ++i) {
        Json images = Json::array(), divergences = Json::array();
        for (std::int64_t j = 0; j < std::min(args.nearest, others); ++j) {
            images.push_back(found.order[static_cast<std::size_t>(i * others + j)]);
            divergences.push_back(
                found.divergences[static_cast<std::size_t>(i * found.images + images.back().get<std::int64_t>())]);
        }
        out.push_back({{"image", found.asked[static_cast<std::size_t>(i)]},
                       {"nearest", std::move(images)},
                       {"divergences", std::move(divergences)}});
    }
    return out;
}

DivergenceForm form_of(const std::string& name) {
    if (name == "nearest") return DivergenceForm::nearest;
    if (name == "ball") return DivergenceForm::common_ball;
    if (name == "ball-distances") return DivergenceForm::common_ball_distances;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--form '{}': expected one of nearest, ball, ball-distances", name));
}

int execute(const Args& args) {
    const Stopwatch total;
    std::vector<double> numbers;
    RetrievalOptions options;
    options.form = form_of(args.form);
    options.both_ways = args.both_ways;
    options.asked = args.asked;
    options.search.metric = make_metric(args.distance, numbers);
    set_execution(args.execution, options.search);
    OutputSet outputs(args.force, [] { return !interrupted(); });
    for (const std::string& image : args.images) outputs.reads("IMAGE", image);
    outputs.reads("--labels", args.labels);
    reads_distance(outputs, args.distance);
    if (!args.out.empty()) outputs.add("--out", args.out);
    if (!args.order.empty()) outputs.add("--order", args.order);
    std::vector<std::int64_t> labels;
    if (!args.labels.empty()) {
        const std::string format = args.labels.ends_with(".csv") || args.labels.ends_with(".txt") ? "csvi64" : "";
        MatrixReader reader(args.labels, reading(format));
        const std::int64_t count = reader.info().rows * reader.info().cols;
        if (count != std::ssize(args.images))
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--labels {}: {} of them; expected one of each of {}", args.labels, count,
                                    counted(std::ssize(args.images), "image", "images")));
        labels = to_ids(read_matrix(reader), args.labels);
    }
    Inputs inputs(args.input, options.search.memory);
    std::vector<Samples> samples;
    std::vector<std::vector<MatrixView>> images;
    // A seed of its own for each: where two images have the same noise, their flat areas seem alike.
    const std::uint64_t first_seed = static_cast<std::uint64_t>(args.seed) * args.images.size();
    for (std::size_t i = 0; i < args.images.size(); ++i) {
        stop_if_interrupted();
        samples.push_back(samples_of(args.images[i], first_seed + i, inputs));
    }
    for (const Samples& of_image : samples) images.push_back(of_image.views());
    const double read_seconds = total.seconds();
    options.search.memory = inputs.memory_left();
    Retrieved found;
    {
        ProgressBar bar(!args.output.quiet);
        options.search.progress = bar.callback();
        try {
            found = retrieve(images, args.k, options);
        } catch (const Error& error) {
            throw Error(error.code(), with_file_names(error.what(), args.images));
        }
    }
    stop_if_interrupted();
    const auto asked = static_cast<std::int64_t>(found.asked.size());
    write_values(outputs, args.out, asked, found.images, found.divergences);
    write_values(outputs, args.order, asked, found.images - 1, found.order);
    outputs.commit();
    const bool shown = args.out.empty() && args.order.empty();
    std::vector<double> precisions;
    for (std::int64_t first = 1; !labels.empty() && first <= std::min(precisions_printed, found.images - 1); ++first)
        precisions.push_back(precision_at(found, labels, first));
    if (args.output.json) {
        Json object = {{"command", "retrieve"},      {"kith", KITH_VERSION}, {"images", found.images},
                       {"scales", images[0].size()}, {"asked", found.asked}, {"k", args.k}};
        object["left_out"] = found.left_out;
        object["inputs"] = inputs.json();
        if (shown) object["rows"] = json_of(args, found);
        if (!labels.empty()) object["precision_at"] = precisions;
        object["read_seconds"] = read_seconds;
        object["seconds"] = total.seconds();
        print_json(object);
        return exit_ok;
    }
    if (shown) print_rows(args, found);
    for (std::size_t i = 0; i < precisions.size(); ++i)
        fmt::print("precision at {}: {:.1f} %\n", i + 1, 100 * precisions[i]);
    std::fflush(stdout);
    if (!args.output.quiet)
        say("{} asked among {} of {}, in {}\n{}", grouped(asked), counted(found.images, "image", "images"),
            counted(static_cast<std::int64_t>(images[0].size()), "scale", "scales"), duration(total.seconds()),
            inputs.text());
    if (!args.output.quiet && found.left_out > 0)
        say("{} equal others of their image and were left out, over all divergences\n",
            counted(found.left_out, "sample", "samples"));
    return exit_ok;
}

}  // namespace

void add_retrieve(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("retrieve", "Images into order by the divergences of their patches");
    command->footer(
        "An image is a binary PGM or PPM, whose features are made at three scales, or a file of feature vectors, one "
        "a\n"
        "row: an npz or HDF5 file of one data set for each scale, any other of one scale.");
    command->add_option("images", args->images, "The images, or their features")->type_name("FILE")->required();
    add_input(*command, args->input, "files of features, where their names do not say");
    add_counts(*command, "--ask", args->asked, "The images that ask, by their places from 0 on (all)", 0)
        ->type_name("I,J,...")
        ->group("Input");
    command->add_option("--labels", args->labels, "What each image is of, as integers: say the precision by them")
        ->type_name("FILE")
        ->group("Input");
    add_count(*command, "-k", args->k, "The neighbour whose distance is taken (10)", 1)->type_name("K");
    command->add_option("--form", args->form, "nearest (the default), ball, ball-distances: as of kith estimate")
        ->type_name("NAME");
    command->add_flag("--both-ways", args->both_ways, "Add the divergence of each from the one that asks");
    add_count(*command, "--seed", args->seed,
              "Of the noise that undoes the rounding of pixels, which each image has of its own (0)", 0)
        ->type_name("SEED");
    add_distance(*command, args->distance, of_two_samples);
    const char* output = "Output (without a file: the nearest images)";
    add_count(*command, "--nearest", args->nearest, "The nearest images to print (5)", 1)
        ->type_name("N")
        ->group(output);
    command->add_option("-o,--out", args->out, "Write the divergences, asked x images, of f64: npy, csv64")
        ->type_name("FILE")
        ->group(output);
    command->add_option("--order", args->order, "Write the other images of each, the nearest first: npy, csvi64")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--force", args->force, "Replace data sets that an HDF5 file holds already")->group(output);
    add_execution(*command, args->execution);
    add_output(*command, args->output);
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
