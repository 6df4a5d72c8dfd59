// Sparse matrix files, scipy's .npz of format csr: read whole, and written row by row with rows of any lengths.
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

// The result of a range search, queries x points, in the form that scipy.sparse.load_npz reads: format csr. The data
// are the distances, f32 or f64, in the order of each row (not of the ids). Indices are i32, or i64 if i32 is too
// small. Until finish() rows are spooled to nameless files next to the output, which doubles the disk space and needs
// hardly any memory.
class CsrWriter {
public:
    // `path` must have been added to `outputs` as bytes; `outputs` must outlive the writer. Throws bad_file.
    KITH_EXPORT CsrWriter(OutputSet& outputs, const std::string& path, std::int64_t points, bool f64);
    KITH_EXPORT ~CsrWriter();
    CsrWriter(const CsrWriter&) = delete;
    CsrWriter& operator=(const CsrWriter&) = delete;

    // Appends the next rows, with distances of the declared type and ids below `points`. Throws bad_file,
    // invalid_argument.
    KITH_EXPORT void append(const RadiusRows& rows);
    // Writes the file; the commit() of its OutputSet renames it.
    KITH_EXPORT void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Collects rows of the same queries from one shard of the points after the other, as radius_shard() provides them. They
// are spooled to a nameless file next to `path`, 16 bytes per neighbour, until all shards are complete and can be
// merged.
class ShardRows {
public:
    // Throws bad_file.
    KITH_EXPORT explicit ShardRows(const std::string& path);
    KITH_EXPORT ~ShardRows();
    ShardRows(const ShardRows&) = delete;
    ShardRows& operator=(const ShardRows&) = delete;

    // Appends the next rows of a shard; rows that start at the first query begin another shard. Throws bad_file,
    // invalid_argument.
    KITH_EXPORT void append(const RadiusRows& rows);
    // Hands on all rows as merge_radius() computes them, counted from `first`, in blocks of about `bytes`, or of one
    // row if that is larger. Throws bad_file; invalid_argument if shards differ in the number of rows.
    KITH_EXPORT void hand_on(std::int64_t first, std::int64_t dimensions, const Options& options, std::int64_t bytes,
                             const TakeRadiusRows& take);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// A sparse matrix in memory: each row's columns ascend, without duplicates.
struct CsrMatrix {
    std::int64_t rows = 0, cols = 0;
    std::vector<std::int64_t> offsets;  // rows + 1
    std::vector<std::int64_t> ids;
    std::vector<double> values;
};

// True if `path` names a whole .npz with the arrays of a sparse matrix. This includes formats other than csr, which
// read_csr() rejects by name. For standard input, "-", the format must be named. Throws bad_file if the file cannot be
// read, invalid_argument if the format is unknown, cancelled.
KITH_EXPORT bool is_csr(const std::string& path, const ReadOptions& options = {});
// Bytes that read_csr() will need, from the headers. Throws what it throws.
KITH_EXPORT double csr_bytes(const std::string& path);
// Reads a file of scipy.sparse.save_npz with a matrix of format csr, possibly without entries, with values of any type
// that npy files are read in. Columns are sorted, and duplicates in a row are summed. `proceed`: see ReadOptions.
// Throws bad_file for other formats and for inconsistent numbers; cancelled.
KITH_EXPORT CsrMatrix read_csr(const std::string& path, const std::function<bool()>& proceed = {});

// Writes a whole result to such a file.
KITH_EXPORT void write_csr(const std::string& path, const RadiusNeighbors& neighbors, std::int64_t points);

}  // namespace kith
