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
    std::string path;  // as MatrixReader takes it, with an absolute file
    std::int64_t rows = 0;
};

// Rows of one file, never of two: what has changed is named by its file.
struct RowPiece {
    std::int64_t file = 0;
    std::int64_t file_row = 0;  // its first row in that file
    std::int64_t first = 0;     // the same row among all
    std::int64_t rows = 0;
    std::uint32_t checksum = 0;  // of its elements as the file has them, row by row
};

// The rows of the files, one file after the other.
struct Rows {
    std::string format;  // as ReadOptions has it
    std::int64_t count = 0;
    std::int64_t cols = 0;
    ElementType type = ElementType::f32;  // as the files have it
    std::vector<RowFile> files;
    std::vector<RowPiece> pieces;
};

// Asked while rows are read; false ends that with cancelled.
using GoesOn = std::function<bool()>;

// Looks at the headers. Throws invalid_argument, naming `argument`, where the files disagree in
// columns or type.
Rows open_rows(const std::string& argument, const std::vector<std::string>& paths,
               const std::string& format, Stop& stop);
// At most so many pieces cut() makes.
std::int64_t pieces_of(const Rows& rows, std::int64_t most);
// Cuts every file into pieces of equal size, `most` rows at most.
void cut(Rows& rows, std::int64_t most);
// Reads all of it for the checksums; `step` is told of each block of rows that is read.
void add_checksums(Rows& rows, Stop& stop, const std::function<void(std::int64_t rows)>& step);

// Throws bad_file, naming the file, where a header is another than it was.
void require_same_files(const Rows& rows, Stop& stop);
// All of a file, to search in.
Matrix read_points(const std::string& path, const std::string& format, Stop& stop);
// A piece, to search in (kith/searchable.h). Throws bad_file, naming the file and the rows, where
// it has changed.
Matrix read_piece(const Rows& rows, const RowPiece& piece, const GoesOn& goes_on);
// "rows 1000 to 1999 of base.fvecs"
std::string described(const Rows& rows, const RowPiece& piece);

}  // namespace kith::groundtruth
