// Reads the rows of a job's files piece by piece, and knows when they are not what they were.
#include "groundtruth/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "groundtruth/checksum.h"
#include "interrupt.h"
#include "json.h"
#include "kith/error.h"

namespace kith::cli::groundtruth {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{16} << 20;

[[noreturn]] void changed(const std::string& what, const std::string& expected, const std::string& found) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: changed since the job was made: expected {}, found {}", what, expected, found));
}

std::string shape_text(std::int64_t rows, std::int64_t cols, ElementType type) {
    return fmt::format("{} x {} {}", rows, cols, name(type));
}

void require_same(const Rows& rows, const RowFile& file, const FileInfo& found) {
    if (found.rows == file.rows && found.cols == rows.cols && found.type == rows.type) return;
    changed(file.path, shape_text(file.rows, rows.cols, rows.type), shape_text(found.rows, found.cols, found.type));
}

// The piece's elements in order, block by block, none of which is kept.
template <class Take>
void for_blocks(MatrixReader& reader, const RowPiece& piece, const Take& take) {
    const FileInfo& info = reader.info();
    const std::int64_t row_bytes = info.cols * static_cast<std::int64_t>(size_of(info.type));
    const std::int64_t step = std::clamp<std::int64_t>(block_bytes / row_bytes, 1, piece.rows);
    std::vector<std::byte> block(static_cast<std::size_t>(step * row_bytes));
    for (std::int64_t first = 0; first < piece.rows; first += step) {
        stop_if_interrupted();
        const std::int64_t count = std::min(step, piece.rows - first);
        reader.read(piece.file_row + first, count, block.data());
        take(block.data(), count, static_cast<std::size_t>(count * row_bytes));
    }
}

// The manifest and what is said in JSON hold the names of the files.
void require_utf8(const std::string& option, const std::string& path) {
    try {
        (void)Json(path).dump();
    } catch (const Json::type_error&) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} {}: expected a path in UTF-8, which the manifest can hold", option,
                                Json(path).dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
}

// A path says the same from any folder; a ".." in it stays, for behind a link it leads elsewhere than its text says.
std::string absolute_path(const std::string& option, const std::string& path) {
    std::error_code failed;
    std::string absolute = std::filesystem::absolute(path, failed).string();
    if (failed) throw Error(ErrorCode::invalid_argument, fmt::format("{} {}: {}", option, path, failed.message()));
    require_utf8(option, absolute);
    return absolute;
}

}  // namespace

Rows open_rows(const std::string& option, const std::vector<std::string>& paths, const std::string& format) {
    Rows rows;
    rows.format = format;
    for (const std::string& path : paths) {
        if (path == "-" || path == "/dev/stdin")
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} {}: expected a file: it is read again and again", option, path));
        const std::string absolute = absolute_path(option, path);
        const FileInfo info = MatrixReader(absolute, reading(format)).info();
        if (rows.files.empty()) {
            rows.cols = info.cols;
            rows.type = info.type;
        } else if (info.cols != rows.cols || info.type != rows.type) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} {}: expected rows of {} {}, as {} has them, found {} {}", option, path,
                                    rows.cols, name(rows.type), paths[0], info.cols, name(info.type)));
        }
        rows.files.push_back({absolute, info.rows});
        rows.count += info.rows;
    }
    return rows;
}

void cut(Rows& rows, std::int64_t most) {
    std::int64_t first = 0;
    for (std::size_t file = 0; file < rows.files.size(); ++file) {
        const std::int64_t all = rows.files[file].rows;
        const std::int64_t pieces = (all - 1) / most + 1;
        const std::int64_t size = (all - 1) / pieces + 1;
        for (std::int64_t row = 0; row < all; row += size) {
            rows.pieces.push_back({static_cast<std::int64_t>(file), row, first + row, std::min(size, all - row), 0});
        }
        first += all;
    }
}

void add_checksums(Rows& rows, const std::function<void(std::int64_t rows)>& step) {
    std::optional<MatrixReader> reader;
    std::int64_t open = -1;
    for (RowPiece& piece : rows.pieces) {
        const RowFile& file = rows.files[static_cast<std::size_t>(piece.file)];
        if (open != piece.file) reader.emplace(file.path, reading(rows.format));
        open = piece.file;
        require_same(rows, file, reader->info());
        Checksum sum;
        for_blocks(*reader, piece, [&](const std::byte* bytes, std::int64_t count, std::size_t size) {
            sum.add(bytes, size);
            step(count);
        });
        piece.checksum = sum.value();
    }
}

void require_same_files(const Rows& rows) {
    for (const RowFile& file : rows.files) {
        stop_if_interrupted();
        require_same(rows, file, MatrixReader(file.path, reading(rows.format)).info());
    }
}

Matrix read_piece(const Rows& rows, const RowPiece& piece, const std::atomic<bool>* dropped) {
    const RowFile& file = rows.files[static_cast<std::size_t>(piece.file)];
    MatrixReader reader(file.path, reading(rows.format, dropped));
    require_same(rows, file, reader.info());
    const std::string what = described(rows, piece);
    Checksum sum;
    Matrix matrix = read_rows(reader, piece.file_row, piece.rows, what,
                              [&](const std::byte* block, std::size_t size) { sum.add(block, size); });
    if (sum.value() != piece.checksum)
        changed(what, fmt::format("checksum {:08x}", piece.checksum), fmt::format("{:08x}", sum.value()));
    return searchable(std::move(matrix), what);
}

PieceReader piece_reader(const Rows& rows) {
    return PieceReader([&rows](std::int64_t piece, const std::atomic<bool>& dropped) {
        return read_piece(rows, rows.pieces[static_cast<std::size_t>(piece)], &dropped);
    });
}

std::string described(const Rows& rows, const RowPiece& piece) {
    return fmt::format("rows {} to {} of {}", piece.file_row, piece.file_row + piece.rows - 1,
                       rows.files[static_cast<std::size_t>(piece.file)].path);
}

}  // namespace kith::cli::groundtruth
