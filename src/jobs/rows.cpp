// Reads the rows of a job's files piece by piece, and detects changes.
#include "jobs/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/path.h"
#include "jobs/files/checksum.h"
#include "jobs/files/json.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "kith/searchable.h"

namespace kith::groundtruth {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{16} << 20;

[[noreturn]] void changed(const std::string& what, const std::string& expected,
                          const std::string& found) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: changed since the job was made: expected {}, found {}", what,
                            expected, found));
}

std::string shape_text(std::int64_t rows, std::int64_t cols, ElementType type) {
    return fmt::format("{} x {} {}", rows, cols, name(type));
}

void require_same(const Rows& rows, const RowFile& file, const FileInfo& found) {
    if (found.rows == file.rows && found.cols == rows.cols && found.type == rows.type) return;
    changed(file.path, shape_text(file.rows, rows.cols, rows.type),
            shape_text(found.rows, found.cols, found.type));
}

ReadOptions reading(const std::string& format, Stop& stop) {
    return {format, [&stop] { return stop.goes_on(); }};
}

std::int64_t row_bytes(const FileInfo& info) {
    return info.cols * static_cast<std::int64_t>(size_of(info.type));
}

// Calls take for the piece's elements, block by block in order; no block is stored.
template <class Take>
void for_blocks(MatrixReader& reader, const RowPiece& piece, Stop& stop, const Take& take) {
    const std::int64_t bytes_of_row = row_bytes(reader.info());
    const std::int64_t step = std::clamp<std::int64_t>(block_bytes / bytes_of_row, 1, piece.rows);
    std::vector<std::byte> block(static_cast<std::size_t>(step * bytes_of_row));
    for (std::int64_t first = 0; first < piece.rows; first += step) {
        stop.check();
        const std::int64_t count = std::min(step, piece.rows - first);
        reader.read(piece.file_row + first, count, block.data());
        take(block.data(), count, static_cast<std::size_t>(count * bytes_of_row));
    }
}

std::int64_t pieces_of(const RowFile& file, std::int64_t most) {
    return (file.rows - 1) / most + 1;
}

// The manifest and JSON output contain the file names.
void require_utf8(const std::string& argument, const std::string& path) {
    try {
        (void)Json(path).dump();
    } catch (const Json::type_error&) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{} {}: expected a path in UTF-8, which the manifest can hold", argument,
                        Json(path).dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
}

// An absolute path is valid from any folder. A ".." stays: after a symbolic link it leads elsewhere
// than its text suggests.
std::string absolute_path(const std::string& argument, const std::string& path) {
    std::error_code failed;
    std::string absolute = std::filesystem::absolute(path, failed).string();
    if (failed)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} {}: {}", argument, path, failed.message()));
    require_utf8(argument, absolute);
    return absolute;
}

}  // namespace

Rows open_rows(const std::string& argument, const std::vector<std::string>& paths,
               const std::string& format, Stop& stop) {
    Rows rows;
    rows.format = format;
    for (const std::string& path : paths) {
        if (!io::standard_input_of(path).empty())
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("{} {}: expected a file: it is read again and again", argument, path));
        const std::string absolute = absolute_path(argument, path);
        const FileInfo info = MatrixReader(absolute, reading(format, stop)).info();
        if (rows.files.empty()) {
            rows.cols = info.cols;
            rows.type = info.type;
        } else if (info.cols != rows.cols || info.type != rows.type) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} {}: expected rows of {} {}, as {} has them, found {} {}",
                                    argument, path, rows.cols, name(rows.type), paths[0], info.cols,
                                    name(info.type)));
        }
        rows.files.push_back({absolute, info.rows});
        rows.count += info.rows;
    }
    return rows;
}

std::int64_t pieces_of(const Rows& rows, std::int64_t most) {
    std::int64_t pieces = 0;
    for (const RowFile& file : rows.files) pieces += pieces_of(file, most);
    return pieces;
}

void cut(Rows& rows, std::int64_t most) {
    std::int64_t first = 0;
    for (std::size_t file = 0; file < rows.files.size(); ++file) {
        const std::int64_t all = rows.files[file].rows;
        const std::int64_t size = (all - 1) / pieces_of(rows.files[file], most) + 1;
        for (std::int64_t row = 0; row < all; row += size) {
            rows.pieces.push_back(
                {static_cast<std::int64_t>(file), row, first + row, std::min(size, all - row), 0});
        }
        first += all;
    }
}

void add_checksums(Rows& rows, Stop& stop, const std::function<void(std::int64_t rows)>& step) {
    std::optional<MatrixReader> reader;
    std::int64_t open = -1;
    for (RowPiece& piece : rows.pieces) {
        const RowFile& file = rows.files[static_cast<std::size_t>(piece.file)];
        if (open != piece.file) reader.emplace(file.path, reading(rows.format, stop));
        open = piece.file;
        require_same(rows, file, reader->info());
        Checksum sum;
        for_blocks(*reader, piece, stop,
                   [&](const std::byte* bytes, std::int64_t count, std::size_t size) {
                       sum.add(bytes, size);
                       step(count);
                   });
        piece.checksum = sum.value();
    }
}

void require_same_files(const Rows& rows, Stop& stop) {
    for (const RowFile& file : rows.files) {
        stop.check();
        require_same(rows, file, MatrixReader(file.path, reading(rows.format, stop)).info());
    }
}

Matrix read_points(const std::string& path, const std::string& format, Stop& stop) {
    const ReadOptions options = reading(format, stop);
    return searchable(read_matrix(path, options), path, options.proceed);
}

Matrix read_piece(const Rows& rows, const RowPiece& piece, const GoesOn& goes_on) {
    const RowFile& file = rows.files[static_cast<std::size_t>(piece.file)];
    MatrixReader reader(file.path, ReadOptions{rows.format, goes_on});
    require_same(rows, file, reader.info());
    const std::string what = described(rows, piece);
    Matrix matrix;
    matrix.info = reader.info();
    matrix.info.rows = piece.rows;
    const std::int64_t bytes_of_row = row_bytes(matrix.info);
    require_memory(piece.rows * bytes_of_row, what);
    matrix.bytes.reserve(static_cast<std::size_t>(piece.rows * bytes_of_row));
    const std::int64_t step = std::clamp<std::int64_t>(block_bytes / bytes_of_row, 1, piece.rows);
    Checksum sum;
    // The vector grows with the rows: zeroing a large one at once could not be interrupted.
    for (std::int64_t first = 0; first < piece.rows; first += step) {
        if (!goes_on()) throw Error(ErrorCode::cancelled, "cancelled");
        const std::int64_t count = std::min(step, piece.rows - first);
        matrix.bytes.resize(static_cast<std::size_t>((first + count) * bytes_of_row));
        std::byte* const block = matrix.bytes.data() + first * bytes_of_row;
        reader.read(piece.file_row + first, count, block);
        sum.add(block, static_cast<std::size_t>(count * bytes_of_row));
    }
    if (sum.value() != piece.checksum)
        changed(what, fmt::format("checksum {:08x}", piece.checksum),
                fmt::format("{:08x}", sum.value()));
    return searchable(std::move(matrix), what, goes_on);
}

std::string described(const Rows& rows, const RowPiece& piece) {
    return fmt::format("rows {} to {} of {}", piece.file_row, piece.file_row + piece.rows - 1,
                       rows.files[static_cast<std::size_t>(piece.file)].path);
}

}  // namespace kith::groundtruth
