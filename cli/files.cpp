// Matrices from files and to files.
#include "files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "element.h"
#include "interrupt.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "kith/searchable.h"

namespace kith::cli {
namespace {

constexpr std::int64_t block_bytes = 16 << 20;

std::int64_t rows_of_block(std::int64_t row_bytes) {
    return std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(1, row_bytes));
}

// `rows` x `cols` elements of `type` from `source` (of type Source), converted block by block.
template <class Target, class Source>
void append_converted(MatrixWriter& writer, const Source* source, std::int64_t rows, std::int64_t cols) {
    const std::int64_t step = rows_of_block(cols * static_cast<std::int64_t>(sizeof(Target)));
    std::vector<Target> block;
    for (std::int64_t first = 0; first < rows; first += step) {
        stop_if_interrupted();
        const std::int64_t count = std::min(step, rows - first);
        block.assign(source + first * cols, source + (first + count) * cols);
        writer.append(block.data(), count);
    }
}

}  // namespace

Matrix load_matrix(const std::string& path, const std::string& format) {
    return read_matrix(path, reading(format));
}

Matrix read_rows(MatrixReader& reader, std::int64_t first, std::int64_t count, const std::string& what,
                 const std::function<void(const std::byte*, std::size_t)>& take) {
    Matrix matrix;
    matrix.info = reader.info();
    matrix.info.rows = count;
    const std::int64_t row_bytes = matrix.info.cols * static_cast<std::int64_t>(size_of(matrix.info.type));
    const std::int64_t step = rows_of_block(row_bytes);
    require_memory(count * row_bytes, what);
    matrix.bytes.reserve(static_cast<std::size_t>(count * row_bytes));
    // The vector grows as the rows come: setting all of a large one to zero at once could not be stopped.
    for (std::int64_t row = 0; row < count; row += step) {
        stop_if_interrupted();
        const std::int64_t some = std::min(step, count - row);
        matrix.bytes.resize(static_cast<std::size_t>((row + some) * row_bytes));
        std::byte* const block = matrix.bytes.data() + row * row_bytes;
        reader.read(first + row, some, block);
        if (take) take(block, static_cast<std::size_t>(some * row_bytes));
    }
    return matrix;
}

ReadOptions reading(const std::string& format, const std::atomic<bool>* dropped) {
    return {format, [dropped] { return !interrupted() && !(dropped && *dropped); }};
}

Matrix load_points(const std::string& path, const std::string& format) {
    return to_points(load_matrix(path, format), path);
}

Matrix to_points(Matrix matrix, const std::string& what) {
    return kith::searchable(std::move(matrix), what, [] { return !interrupted(); });
}

std::string part_of(const std::string& path, const std::string& format, const char* part) {
    for (const std::string_view suffix : {".hdf5", ".h5"}) {
        const std::size_t at = path.rfind(suffix);
        if (at == std::string::npos) continue;
        // A range of rows may follow.
        const std::size_t end = at + suffix.size();
        if (end != path.size() && path[end] != ':') continue;
        const std::vector<std::string> names = data_sets(path, format);
        if (std::find(names.begin(), names.end(), part) == names.end()) break;
        return path.substr(0, end) + "/" + part + path.substr(end);
    }
    return path;
}

std::vector<double> to_doubles(const Matrix& matrix) {
    std::vector<double> values(static_cast<std::size_t>(matrix.info.rows * matrix.info.cols));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_element(matrix.bytes.data(), i, matrix.info.type);
    return values;
}

std::vector<std::int64_t> to_ids(const Matrix& matrix, const std::string& what) {
    if (!is_integer(matrix.info.type)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} holds {}; expected integer ids", what, name(matrix.info.type)));
    }
    std::vector<std::int64_t> ids(static_cast<std::size_t>(matrix.info.rows * matrix.info.cols));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = load_integer(matrix.bytes.data(), i, matrix.info.type);
    return ids;
}

MatrixWriter open_writer(OutputSet& outputs, const std::string& path, std::int64_t rows, std::int64_t cols,
                         std::initializer_list<ElementType> types) {
    std::optional<Error> first_refusal;
    for (const ElementType type : types) {
        try {
            return {outputs, path, FileInfo{"", rows, cols, type}};
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument) throw;
            if (!first_refusal) first_refusal = error;
        }
    }
    throw Error(*first_refusal);
}

void require_narrow_ids(const std::string& file, std::int64_t points) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (points - 1 <= most) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: ids up to {} do not fit the format's 32 bits; use npy or hdf5", file, points - 1));
}

ResultFiles::ResultFiles(OutputSet& outputs, const std::string& ids, const std::string& distances, std::int64_t rows,
                         std::int64_t k, std::int64_t points, bool f64) {
    if (!ids.empty()) {
        ids_ = open_writer(outputs, ids, rows, k, {ElementType::i64, ElementType::i32});
        if (ids_->info().type == ElementType::i32) require_narrow_ids(ids, points);
    }
    if (distances.empty()) return;
    distances_ = open_writer(outputs, distances, rows, k, {f64 ? ElementType::f64 : ElementType::f32});
}

void ResultFiles::write(const Neighbors& neighbors) {
    append(neighbors);
    finish();
}

void ResultFiles::append(const Neighbors& neighbors) {
    if (ids_) append_ids(neighbors);
    if (distances_) append_distances(neighbors);
}

void ResultFiles::finish() {
    if (ids_) ids_->commit();
    if (distances_) distances_->commit();
}

void ResultFiles::append_ids(const Neighbors& neighbors) {
    const std::int64_t* ids = neighbors.ids.data();
    if (ids_->info().type == ElementType::i64) {
        append_converted<std::int64_t>(*ids_, ids, neighbors.queries, neighbors.k);
    } else {
        append_converted<std::int32_t>(*ids_, ids, neighbors.queries, neighbors.k);
    }
}

void ResultFiles::append_distances(const Neighbors& neighbors) {
    if (distances_->info().type == ElementType::f64) {
        append_converted<double>(*distances_, neighbors.distances64.data(), neighbors.queries, neighbors.k);
    } else {
        append_converted<float>(*distances_, neighbors.distances.data(), neighbors.queries, neighbors.k);
    }
}

OutKind kind_of(const std::string& path) {
    if (path.empty()) return OutKind::none;
    if (is_hdf5(path)) return OutKind::ann_benchmarks;
    for (const char* suffix : {".truth", ".gt", ".bin"}) {
        if (path.ends_with(suffix)) return OutKind::big_ann;
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--out '{}': expected a name ending in .hdf5 or .h5 (ann-benchmarks), or in .truth, .gt or "
                            ".bin (big-ann ground truth)",
                            path));
}

bool is_hdf5(const std::string& path) {
    return path.ends_with(".hdf5") || path.ends_with(".h5");
}

std::string with_data_set(const std::string& path, const char* data_set) {
    return is_hdf5(path) ? path + "/" + data_set : path;
}

bool opens_as_truth(const std::string& part) {
    try {
        const MatrixReader opened(part, "truth");
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::bad_file) throw;
        return false;
    }
}

bool is_big_ann_truth(const std::string& path) {
    if (path.ends_with(".truth") || path.ends_with(".gt")) return true;
    if (!path.ends_with(".bin") && !path.ends_with(".ibin")) return false;
    // A matrix of ids in an .ibin is as large as a truth of ids alone, and the same.
    return opens_as_truth(path + "/distances") || (path.ends_with(".bin") && opens_as_truth(path + "/ids"));
}

}  // namespace kith::cli
