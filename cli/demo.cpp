// kith demo: the exact neighbours of Fashion-MNIST's test images among its training images, and what they are good for.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "command.h"
#include "contact_sheet.h"
#include "files.h"
#include "interrupt.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "progress.h"
#include "vote.h"

namespace kith::cli {
namespace {

constexpr std::array class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr int side = 28;
constexpr std::int64_t neighbours_kept = 100;
constexpr std::int64_t sheet_neighbours = 10;
constexpr std::size_t sheet_right = 7;
constexpr std::size_t sheet_wrong = 5;

struct Args {
    std::string data = "/usr/share/datasets/fashion-mnist";
    std::string out_dir = "demo";
    std::int64_t limit = 0;
    ExecutionArgs execution;
    bool quiet = false;
};

struct Images {
    Matrix pixels;
    std::vector<std::int64_t> labels;

    const std::uint8_t* image(std::int64_t row) const {
        return reinterpret_cast<const std::uint8_t*>(pixels.bytes.data()) + row * side * side;
    }
    const char* class_name(std::int64_t row) const {
        return class_names[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])];
    }
};

// `rows` is a suffix of the file names, ":0:50" for the first 50 rows.
Images load_images(const Args& args, const std::string& part, const std::string& rows) {
    const auto file = [&](const char* kind) {
        const std::string name = args.data + "/" + part + "-" + kind + "-ubyte";
        std::error_code failed;
        const bool plain = std::filesystem::exists(name, failed);
        if (!plain && !std::filesystem::exists(name + ".gz", failed)) {
            throw Error(ErrorCode::bad_file, fmt::format("{}.gz is missing; install the Debian package "
                                                         "dataset-fashion-mnist, or name the folder with --data",
                                                         name));
        }
        return name + (plain ? "" : ".gz") + rows;
    };
    Images images;
    const std::string labels_file = file("labels-idx1");
    images.pixels = load_matrix(file("images-idx3"), "idx");
    images.labels = to_ids(load_matrix(labels_file, "idx"), labels_file);
    const auto out_of_range = [](std::int64_t label) {
        return label < 0 || label >= static_cast<std::int64_t>(class_names.size());
    };
    if (images.pixels.info.cols != side * side || images.pixels.info.type != ElementType::u8 ||
        static_cast<std::int64_t>(images.labels.size()) != images.pixels.info.rows ||
        std::any_of(images.labels.begin(), images.labels.end(), out_of_range)) {
        throw Error(ErrorCode::bad_file, fmt::format("{}: expected {} x {} images of u8 and a label 0 to {} for each",
                                                     args.data, side, side, class_names.size() - 1));
    }
    return images;
}

// Queries of which most neighbours say the right class, and some that are outvoted; of many classes, in test order.
std::vector<std::int64_t> pick_queries(const Neighbors& neighbors, const Images& points, const Images& queries) {
    std::vector<std::int64_t> picked;
    for (const bool right : {true, false}) {
        const std::size_t wanted = right ? sheet_right : sheet_wrong;
        std::array<int, class_names.size()> taken{};
        std::size_t count = 0;
        // One of each class first, then whichever come.
        for (int per_class = 1; per_class <= static_cast<int>(wanted) && count < wanted; ++per_class) {
            for (std::int64_t i = 0; i < neighbors.queries && count < wanted; ++i) {
                const std::int64_t label = queries.labels[static_cast<std::size_t>(i)];
                int& of_class = taken[static_cast<std::size_t>(label)];
                if (of_class >= per_class || (vote(neighbors, i, sheet_neighbours, points.labels) == label) != right)
                    continue;
                if (std::find(picked.begin(), picked.end(), i) != picked.end()) continue;
                picked.push_back(i);
                ++of_class;
                ++count;
            }
        }
    }
    return picked;
}

void draw_sheet(FileWriter file, const Neighbors& neighbors, const Images& points, const Images& queries) {
    std::vector<SheetRow> rows;
    for (const std::int64_t i : pick_queries(neighbors, points, queries)) {
        const std::int64_t label = queries.labels[static_cast<std::size_t>(i)];
        const int said = vote(neighbors, i, sheet_neighbours, points.labels);
        SheetRow row;
        row.query = {queries.image(i), queries.class_name(i), true};
        row.right = said == label;
        row.verdict = fmt::format("vote: {}", said < 0 ? "none" : class_names[static_cast<std::size_t>(said)]);
        for (std::int64_t j = 0; j < std::min(sheet_neighbours, neighbors.k); ++j) {
            const std::int64_t id = neighbors.ids[static_cast<std::size_t>(i * neighbors.k + j)];
            row.neighbours.push_back(
                {points.image(id), points.class_name(id), points.labels[static_cast<std::size_t>(id)] == label});
        }
        rows.push_back(std::move(row));
    }
    write_sheet(file, "Fashion-MNIST: test images and their exact nearest training images", rows, side);
}

int execute(const Args& args) {
    Options options;
    options.metric = MetricId::euclidean;
    set_execution(args.execution, options);
    const std::filesystem::path folder(args.out_dir);
    const bool hdf5 = has_format("hdf5");
    const std::string result_file = (folder / (hdf5 ? "fashion-mnist.hdf5" : "fashion-mnist.truth")).string();
    const std::string sheet_file = (folder / "contact-sheet.png").string();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw Error(ErrorCode::bad_file, fmt::format("cannot make {}: {}", args.out_dir, failed.message()));
    OutputSet outputs(true);  // both are the demo's own
    if (hdf5) outputs.add_ann_benchmarks("--out-dir", result_file, options.metric, true, true);
    else outputs.add_big_ann_truth("--out-dir", result_file);
    outputs.add_bytes("--out-dir", sheet_file);

    fmt::print("Reading Fashion-MNIST from {}\n", args.data);
    const Images points = load_images(args, "train", "");
    const Images queries = load_images(args, "t10k", args.limit > 0 ? fmt::format(":0:{}", args.limit) : "");
    const std::int64_t k = std::min(neighbours_kept, points.pixels.info.rows);
    const Shape shape{points.pixels.info.rows, queries.pixels.info.rows, points.pixels.info.cols, k, ElementType::u8};
    fmt::print("The {} nearest of {} training images for each of {} test images ({} dimensions, {} distance)\n\n{}\n",
               k, grouped(shape.n), grouped(shape.q), shape.d, name(options.metric.id), explain(plan(shape, options)));
    std::fflush(stdout);

    Neighbors neighbors;
    {
        ProgressBar bar(!args.quiet);
        options.progress = bar.callback();
        neighbors = search(points.pixels.view(), queries.pixels.view(), k, options);
    }
    stop_if_interrupted();
    fmt::print("{}\n", summary(neighbors.report));

    fmt::print("Their labels' majority names the right class of\n");
    for (const std::int64_t voters : {1, 5, 10, 100}) {
        if (voters > k) break;
        fmt::print("  k = {:<4} {:.2f} %\n", voters, 100 * accuracy(neighbors, voters, points.labels, queries.labels));
    }
    if (hdf5) write_ann_benchmarks(outputs, result_file, neighbors, points.pixels.view(), queries.pixels.view());
    else write_big_ann_truth(outputs, result_file, neighbors);
    stop_if_interrupted();
    draw_sheet(FileWriter(outputs, sheet_file), neighbors, points, queries);
    outputs.commit();
    fmt::print("\nNeighbours, as {} file: {}\nContact sheet: {}\n", hdf5 ? "an ann-benchmarks" : "a big-ann truth",
               result_file, sheet_file);
    return exit_ok;
}

}  // namespace

void add_demo(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("demo", "Real neighbours of real images: Fashion-MNIST, and a contact sheet");
    command->add_option("--data", args->data, "The folder of the IDX files")->type_name("DIR")->capture_default_str();
    command->add_option("--out-dir", args->out_dir, "Where the results go")->type_name("DIR")->capture_default_str();
    add_count(*command, "--limit", args->limit, "Only the first N test images", 1)->type_name("N");
    add_execution(*command, args->execution);
    command->add_flag("--quiet", args->quiet, "No progress bar");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
