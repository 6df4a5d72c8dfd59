// Reads what a command is given, and remembers what to say of it.
#include "inputs.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "files.h"
#include "kith/cut.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "numbers.h"
#include "print.h"

namespace kith::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
}

template <class T>
bool holds_nan(const std::byte* row, std::int64_t cols) {
    bool found = false;
    for (std::int64_t j = 0; j < cols; ++j) {
        T value;
        std::memcpy(&value, row + static_cast<std::size_t>(j) * sizeof value, sizeof value);
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) found |= std::isnan(value);
    }
    return found;
}

// For 16 bits: all bits of the exponent, and one of the fraction at least.
bool holds_nan(const std::byte* row, std::int64_t cols, std::uint16_t exponent) {
    bool found = false;
    for (std::int64_t j = 0; j < cols; ++j) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, row + static_cast<std::size_t>(j) * sizeof bits, sizeof bits);
        found |= (bits & 0x7fff) > exponent;
    }
    return found;
}

bool holds_nan(const std::byte* row, std::int64_t cols, ElementType type) {
    switch (type) {
        case ElementType::f32:
            return holds_nan<float>(row, cols);
        case ElementType::f64:
            return holds_nan<double>(row, cols);
        case ElementType::f16:
            return holds_nan(row, cols, 0x7c00);
        case ElementType::bf16:
            return holds_nan(row, cols, 0x7f80);
        default:
            return false;
    }
}

}  // namespace

void add_input(CLI::App& command, InputArgs& args, const std::string& what, const std::string& format) {
    const char* group = "Input";
    command.add_option(format, args.format, "Format of " + what)->type_name("NAME")->group(group);
    command.add_option("--header", args.header, "Whether the first line of a table in text names its columns: yes, no")
        ->type_name("WHETHER")
        ->group(group);
    command
        .add_option("--columns", args.columns,
                    "Columns of a table in text to read, by place from 1 on or by name: 2-, 1,4-6, x,y")
        ->type_name("LIST")
        ->group(group);
    add_count(command, "--skip", args.skip, "Lines before a table in text, to be left out", 0)
        ->type_name("N")
        ->group(group);
    command
        .add_option("--decimal", args.decimal,
                    "What decimals follow in a table in text: point, comma (1,5; no comma then separates cells)")
        ->type_name("NAME")
        ->group(group);
}

std::string format_of(const InputArgs& args) {
    TableOptions table;
    if (!args.header.empty() && args.header != "yes" && args.header != "no")
        refuse(fmt::format("--header '{}': expected yes or no", args.header));
    if (!args.decimal.empty() && args.decimal != "comma" && args.decimal != "point")
        refuse(fmt::format("--decimal '{}': expected point or comma", args.decimal));
    if (!args.header.empty()) table.header = args.header == "yes";
    table.decimal_comma = args.decimal == "comma";
    table.columns = args.columns;
    table.skip = args.skip;
    return table_format(args.format, table);
}

Matrix Inputs::matrix(const std::string& path) {
    MatrixReader reader = open(path);
    Matrix matrix = read_matrix(reader);
    add(path, matrix.info, 0);
    return matrix;
}

// Once it is open, its size is known and counted.
MatrixReader Inputs::open(const std::string& path) {
    ReadOptions options = reading(format_);
    options.whole = true;
    MatrixReader reader(path, options);
    const FileInfo& info = reader.info();
    const std::string what = fmt::format("{} ({} x {} {})", path, info.rows, info.cols, name(info.type));
    require_memory(info.rows * info.cols * static_cast<std::int64_t>(size_of(info.type)), what);
    take(static_cast<double>(info.rows) * static_cast<double>(info.cols) * element_bytes(info.type), what);
    return reader;
}

Matrix Inputs::points(const std::string& path) {
    MatrixReader reader = open(path);
    return points(path, reader);
}

Matrix Inputs::points(const std::string& path, MatrixReader& reader) {
    Matrix points = to_points(read_matrix(reader), path);
    const std::int64_t nan = nan_rows(points.view());
    require_numbers(path, points.info.rows, nan);
    add(path, points.info, nan);
    return points;
}

std::pair<Matrix, Matrix> Inputs::points_and_queries(const std::string& base, const std::string& queries) {
    if (queries.empty()) return {points(base), Matrix{}};
    MatrixReader base_reader = open(base), query_reader = open(queries);
    require_same_columns(base, base_reader.info(), queries, query_reader.info());
    Matrix first = points(base, base_reader);
    return {std::move(first), points(queries, query_reader)};
}

void Inputs::add(const std::string& path, const FileInfo& info, std::int64_t nan_rows) {
    read_.push_back({path, info, nan_rows});
}

std::int64_t Inputs::nan_rows_of(const std::string& path) const {
    const auto found = std::find_if(read_.begin(), read_.end(), [&](const Read& one) { return one.path == path; });
    return found == read_.end() ? 0 : found->nan_rows;
}

void Inputs::add_other(const std::string& path) {
    bool may_say = format_.starts_with("csv");
    for (const char* suffix : {".csv", ".tsv", ".hdf5", ".h5"}) may_say |= path.find(suffix) != std::string::npos;
    if (may_say) add(path, MatrixReader(path, reading(format_)).info(), 0);
}

void Inputs::compare(const Metric& metric) {
    // Neighbours by euclidean are those by its square.
    const auto kind = [](const Metric& one) { return one.id == MetricId::sqeuclidean ? MetricId::euclidean : one.id; };
    for (Read& one : read_) {
        if (one.info.format != "hdf5") continue;
        std::string says;
        try {
            const std::optional<Metric> of_file = read_ann_benchmarks_metric(one.path);
            if (!of_file || (kind(*of_file) == kind(metric) && of_file->p == metric.p)) continue;
            says = name(of_file->id);
        } catch (const Error& error) {
            says = fmt::format("none that is known here ({})", error.what());
        }
        one.info.remark += fmt::format("{}its metric is {}, and {} is taken here", one.info.remark.empty() ? "" : "; ",
                                       says, name(metric.id));
    }
}

std::string Inputs::text() const {
    std::string text;
    for (const Read& one : read_) {
        if (!one.info.remark.empty()) text += fmt::format("{}: {}\n", one.path, one.info.remark);
        if (one.nan_rows > 0) {
            text += fmt::format("{}: {} of {} rows hold NaN; such rows have no neighbours and are none\n", one.path,
                                grouped(one.nan_rows), grouped(one.info.rows));
        }
    }
    return text;
}

Json Inputs::json() const {
    Json all = Json::array();
    for (const Read& one : read_) {
        all.push_back({{"file", one.path},
                       {"format", one.info.format},
                       {"rows", one.info.rows},
                       {"cols", one.info.cols},
                       {"type", name(one.info.type)},
                       {"nan_rows", one.nan_rows}});
        if (!one.info.remark.empty()) all.back()["remark"] = one.info.remark;
    }
    return all;
}

void require_same_columns(const std::string& base, const FileInfo& points, const std::string& queries,
                          const FileInfo& asked) {
    if (points.cols == asked.cols) return;
    refuse(fmt::format("queries: {} in {}; expected {}, as {} has", counted(asked.cols, "column", "columns"), queries,
                       points.cols, base));
}

std::int64_t nan_rows(const MatrixView& rows) {
    const auto* row = static_cast<const std::byte*>(rows.data);
    const std::size_t bytes = static_cast<std::size_t>(rows.stride) * size_of(rows.type);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows.rows; ++i, row += bytes) count += holds_nan(row, rows.cols, rows.type) ? 1 : 0;
    return count;
}

void require_numbers(const std::string& path, std::int64_t rows, std::int64_t nan_rows) {
    if (nan_rows < rows) return;
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: NaN in {}; expected a row of numbers at least", path,
                            rows == 1 ? "its only row" : fmt::format("each of its {} rows", grouped(rows))));
}

}  // namespace kith::cli
