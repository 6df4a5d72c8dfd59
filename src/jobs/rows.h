// The points or queries of a job: rows of one or several files, cut into pieces that are read one
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jobs/stop.h"
#include "kith/io.h"

namespace kith::groundtruth {

struct RowFile {
    std::string path;  // in MatrixReader's syntax, with an absolute file
    std::int64_t rows = 0;
};

// Rows of exactly one file: changes are reported by file.
struct RowPiece {
    std::int64_t file = 0;
    std::int64_t file_row = 0;  // its first row in that file
    std::int64_t first = 0;     // index of that row among all rows
    std::int64_t rows = 0;
    std::uint32_t checksum = 0;  // of its elements as stored in the file, row by row
};

// The rows of the files, one file after the other.
struct Rows {
    std::string format;  // see ReadOptions
    std::int64_t count = 0;
    std::int64_t cols = 0;
    ElementType type = ElementType::f32;  // as stored in the files
    std::vector<RowFile> files;
    std::vector<RowPiece> pieces;
};

// Polled while rows are read; false ends the read with Error `cancelled`.
using GoesOn = std::function<bool()>;

// Reads the headers. Throws invalid_argument, naming `argument`, if the files differ in columns or
// type.
Rows open_rows(const std::string& argument, const std::vector<std::string>& paths,
               const std::string& format, Stop& stop);
// An upper bound on the number of pieces that cut() makes.
std::int64_t pieces_of(const Rows& rows, std::int64_t most);
// Cuts every file into pieces of equal size, `most` rows at most.
void cut(Rows& rows, std::int64_t most);
// Reads all rows for the checksums; calls `step` for each block of rows.
void add_checksums(Rows& rows, Stop& stop, const std::function<void(std::int64_t rows)>& step);

// Throws bad_file, naming the file, if a header has changed.
void require_same_files(const Rows& rows, Stop& stop);
// Reads all points of a file for a search.
Matrix read_points(const std::string& path, const std::string& format, Stop& stop);
// Reads a piece for a search (kith/searchable.h). Throws bad_file, naming the file and the rows, if
// it has changed.
Matrix read_piece(const Rows& rows, const RowPiece& piece, const GoesOn& goes_on);
// "rows 1000 to 1999 of base.fvecs"
std::string described(const Rows& rows, const RowPiece& piece);

}  // namespace kith::groundtruth
