// Sparse matrix files, scipy's .npz of format csr: read whole, and rows of any lengths written as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/io.h"
#include "kith/output.h"
#include "kith/radius.h"

namespace kith {

// The answer of a radius search, queries x points, as scipy.sparse.load_npz reads it: format csr, the distances as data
// in the order of each row (not of the ids), f32 or f64; indices i32, or i64 where i32 is too small. Rows wait in
// nameless files beside the output until finish(): that takes as much again on the disk, and next to no memory.
class CsrWriter {
public:
    // A path that was added to `outputs` as bytes; `outputs` must outlive the writer. Throws bad_file.
    KITH_EXPORT CsrWriter(OutputSet& outputs, const std::string& path, std::int64_t points, bool f64);
    KITH_EXPORT ~CsrWriter();
    CsrWriter(const CsrWriter&) = delete;
    CsrWriter& operator=(const CsrWriter&) = delete;

    // The next rows, with distances of the type that was named, ids below `points`. Throws bad_file, invalid_argument.
    KITH_EXPORT void append(const RadiusRows& rows);
    // The file is written; the commit() of its OutputSet renames it.
    KITH_EXPORT void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Rows of the same queries from one shard of the points after the other, as radius_shard() hands them on: they wait in
// a nameless file beside `path`, 16 bytes a neighbour, until those of all shards are there to be merged.
class ShardRows {
public:
    // Throws bad_file.
    KITH_EXPORT explicit ShardRows(const std::string& path);
    KITH_EXPORT ~ShardRows();
    ShardRows(const ShardRows&) = delete;
    ShardRows& operator=(const ShardRows&) = delete;

    // The next rows of a shard; those from the first query on begin another shard. Throws bad_file, invalid_argument.
    KITH_EXPORT void append(const RadiusRows& rows);
    // All rows as merge_radius() makes them, counted from `first` on, in blocks that take about `bytes` where no single
    // row takes more. Throws bad_file; invalid_argument where shards differ in the number of rows.
    KITH_EXPORT void hand_on(std::int64_t first, std::int64_t dimensions, const Options& options, std::int64_t bytes,
                             const TakeRadiusRows& take);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// A sparse matrix in memory, its rows ascending by column, each column once.
struct CsrMatrix {
    std::int64_t rows = 0, cols = 0;
    std::vector<std::int64_t> offsets;  // rows + 1
    std::vector<std::int64_t> ids;
    std::vector<double> values;
};

// Whether `path` names a whole .npz that has the arrays of a sparse matrix, of format csr or of another, which
// read_csr() refuses by its name. The format of standard input, "-", is to be named. Throws bad_file where it cannot be
// read, invalid_argument where the format is not known, cancelled.
KITH_EXPORT bool is_csr(const std::string& path, const ReadOptions& options = {});
// Bytes that read_csr() takes, by the headers. Throws as it does.
KITH_EXPORT double csr_bytes(const std::string& path);
// What scipy.sparse.save_npz wrote of a matrix of format csr, also one without entries, with its values of any type
// that npy files are read in: columns are put into order, those of a row that repeat are added up. `proceed`: as of
// ReadOptions. Throws bad_file for another format, and for numbers that contradict each other; cancelled.
KITH_EXPORT CsrMatrix read_csr(const std::string& path, const std::function<bool()>& proceed = {});

// A whole answer as such a file.
KITH_EXPORT void write_csr(const std::string& path, const RadiusNeighbors& neighbors, std::int64_t points);

}  // namespace kith
