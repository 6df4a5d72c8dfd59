// kith convert: a matrix from any format to any other, by blocks of rows.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "budget.h"
#include "command.h"
#include "element.h"
#include "files.h"
#include "inputs.h"
#include "interrupt.h"
#include "kith/io.h"
#include "numbers.h"
#include "option_names.h"
#include "options.h"
#include "print.h"
#include "say.h"

namespace kith::cli {
namespace {

constexpr std::int64_t block_bytes = 16 << 20;
// Blocks of single rows take no more than this, unless --memory says otherwise.
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
// For a block: as it is read, as it is converted, in the buffers of both formats.
constexpr std::int64_t copies = 4;

struct Args {
    std::string in;
    std::string out;
    InputArgs input;
    std::string to;
    std::string type;
    std::string memory;
    bool lossy = false;
    bool force = false;
    bool quiet = false;
};

MatrixWriter open_output(OutputSet& outputs, const Args& args, const FileInfo& in) {
    if (!args.type.empty()) return open_writer(outputs, args.out, in.rows, in.cols, {parse_type(args.type)});
    // The input's own type, else the first that the output format holds; every value is checked on its way.
    return open_writer(outputs, args.out, in.rows, in.cols,
                       {in.type, ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i64,
                        ElementType::u8, ElementType::i8, ElementType::f16, ElementType::bf16});
}

// Converts `count` elements; returns the index of the first that changed its value, or -1.
std::int64_t convert_block(const std::byte* source, ElementType from, std::byte* target, ElementType to,
                           std::int64_t count) {
    std::int64_t changed = -1;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        bool same;
        if (from == ElementType::i64) {
            // Doubles would blur integers beyond 2^53.
            const std::int64_t value = load_integer(source, at, from);
            store_integer(target, at, to, value);
            const double stored = load_element(target, at, to);
            same = std::fabs(stored) < 0x1p63 && static_cast<std::int64_t>(stored) == value;
        } else {
            const double value = load_element(source, at, from);
            store_element(target, at, to, value);
            const double stored = load_element(target, at, to);
            same = stored == value || (std::isnan(stored) && std::isnan(value));
            // The largest integer, taken for 2^63, is 2^63 as a double.
            if (to == ElementType::i64) same = same && value < 0x1p63;
        }
        if (!same && changed < 0) changed = i;
    }
    return changed;
}

int execute(const Args& args) {
    const Stopwatch time;
    MatrixReader reader =
        with_option("--format", "--from", [&] { return MatrixReader(args.in, reading(format_of(args.input))); });
    const FileInfo in = reader.info();
    OutputSet outputs(args.force, [] { return !interrupted(); });
    outputs.reads("IN", args.in);
    with_option("a file name that", "--to, or a file name that", [&] { outputs.add("OUT", args.out, args.to); });
    MatrixWriter writer = open_output(outputs, args, in);
    const ElementType type = writer.info().type;

    const std::int64_t row_bytes = in.cols * static_cast<std::int64_t>(std::max(size_of(in.type), size_of(type)));
    const std::int64_t memory = args.memory.empty() ? most_bytes : parse_bytes(args.memory);
    const std::int64_t block = std::min(block_bytes, Budget(memory).left() / copies);
    const std::int64_t step = std::clamp<std::int64_t>(block / std::max<std::int64_t>(1, row_bytes), 1, in.rows);
    Budget(memory).take(static_cast<double>(copies * step) * static_cast<double>(row_bytes),
                        fmt::format("{} x {} {} of {} in a block of rows", step, in.cols, name(in.type), args.in));
    std::vector<std::byte> source(static_cast<std::size_t>(step * in.cols) * size_of(in.type));
    std::vector<std::byte> target(type == in.type ? 0 : static_cast<std::size_t>(step * in.cols) * size_of(type));
    for (std::int64_t first = 0; first < in.rows; first += step) {
        stop_if_interrupted();
        const std::int64_t count = std::min(step, in.rows - first);
        reader.read(first, count, source.data());
        if (type == in.type) {
            writer.append(source.data(), count);
            continue;
        }
        const std::int64_t changed = convert_block(source.data(), in.type, target.data(), type, count * in.cols);
        if (changed >= 0 && !args.lossy) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{}: row {}, column {}: {} is not a value of {}; --lossy takes the nearest",
                                    args.in, first + changed / in.cols, changed % in.cols,
                                    text_of(source.data(), static_cast<std::size_t>(changed), in.type), name(type)));
        }
        writer.append(target.data(), count);
    }
    stop_if_interrupted();
    writer.commit();
    outputs.commit();
    if (!args.quiet) {
        say("{} x {} {} ({}) to {} as {} in {}\n", grouped(in.rows), grouped(in.cols), name(in.type), in.format,
            args.out, name(type), duration(time.seconds()));
        if (!in.remark.empty()) say("{}: {}\n", args.in, in.remark);
    }
    return exit_ok;
}

}  // namespace

void add_convert(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("convert", "A matrix from any format to any other");
    command->footer(
        "IN may name a data set (file.hdf5/train) and rows (file.fvecs:1000:5000: rows 1000 to 5999).\n"
        "Formats follow the names; kith info lists them.");
    command->add_option("in", args->in, "The matrix to read")->type_name("FILE")->required();
    command->add_option("out", args->out, "The file to write")->type_name("FILE")->required();
    add_input(*command, args->input, "IN, where its name does not say", "--from");
    command->add_option("--to", args->to, "Format of OUT, where its name does not say")->type_name("NAME");
    command
        ->add_option("--type", args->type,
                     "Element type of OUT (f32, f64, f16, bf16, i8, u8, i32, i64); without it, that of IN, or one that "
                     "the format holds")
        ->type_name("NAME");
    command
        ->add_option("--memory", args->memory, "What converting may take, of files whose rows are large: 2GiB (1GiB)")
        ->type_name("SIZE");
    command->add_flag("--lossy", args->lossy, "Values that the type lacks become the nearest instead of an error");
    command->add_flag("--force", args->force, "Replace a data set that the HDF5 file OUT holds already");
    command->add_flag("--quiet", args->quiet, "No summary");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
