// The files that a command reads: how, and what is to be said of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "budget.h"
#include "json.h"
#include "kith/io.h"

namespace CLI {
class App;
}

namespace kith::cli {

// How they are read.
struct InputArgs {
    std::string format;
    // For tables in text.
    std::string header;
    std::string columns;
    std::string decimal;
    std::int64_t skip = 0;
};
// --format (of `what`: "the input, where its name does not say"), --header, --columns, --decimal,
// --skip.
void add_input(CLI::App& command, InputArgs& args, const std::string& what, const std::string& format = "--format");
// The format as ReadOptions takes it. Throws invalid_argument.
std::string format_of(const InputArgs& args);

// The matrices that a command has read.
class Inputs {
public:
    // Within `memory` bytes of the whole process; 0: what is free.
    explicit Inputs(const InputArgs& args, std::int64_t memory = 0) : format_(format_of(args)), budget_(memory) {}

    const std::string& format() const { return format_; }
    // A whole matrix.
    Matrix matrix(const std::string& path);
    // Likewise, to search in or for: wide integers become floating-point numbers (load_points()).
    // Throws bad_file where each row holds a NaN.
    Matrix points(const std::string& path);
    // Counts `bytes` of `what` against the memory. Throws out_of_memory.
    void take(double bytes, const std::string& what) { budget_.take(bytes, what); }
    // The memory that is left, for Options::memory; 0 where there is no limit.
    std::int64_t memory_left() const { return budget_.left(); }
    // Both, of as many columns, which is seen before either is read. No queries: "".
    std::pair<Matrix, Matrix> points_and_queries(const std::string& base, const std::string& queries);
    // For rows that were read elsewhere.
    void add(const std::string& path, const FileInfo& info, std::int64_t nan_rows);
    // How many rows of a file that was read hold a NaN; 0 of another.
    std::int64_t nan_rows_of(const std::string& path) const;

    // For a file that is read elsewhere, if it is a table in text or HDF5: of others there is
    // nothing to find out.
    void add_other(const std::string& path);

    // Says where an HDF5 file that was read names another metric than the one that is taken.
    void compare(const Metric& metric);

    // The findings of the readers, and rows with a NaN: a line each, for the summary.
    std::string text() const;
    Json json() const;

private:
    MatrixReader open(const std::string& path);
    Matrix points(const std::string& path, MatrixReader& reader);

    struct Read {
        std::string path;
        FileInfo info;
        std::int64_t nan_rows;
    };

    std::string format_;
    Budget budget_;
    std::vector<Read> read_;
};

// Throws invalid_argument unless queries have as many columns as points.
void require_same_columns(const std::string& base, const FileInfo& points, const std::string& queries,
                          const FileInfo& asked);
// Rows with a NaN.
std::int64_t nan_rows(const MatrixView& rows);
// Throws bad_file where all of them are such: no search finds anything there.
void require_numbers(const std::string& path, std::int64_t rows, std::int64_t nan_rows);

}  // namespace kith::cli
