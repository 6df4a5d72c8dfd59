// Reads and writes matrices in the field's file formats, in blocks of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/output.h"
#include "kith/types.h"

namespace kith {

// The contents of a file's header, validated against the file's size.
struct FileInfo {
    std::string format;  // "fvecs", "npy", "hdf5", ...
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    ElementType type = ElementType::f32;
    // Decisions of the reader that the file does not state, as human-readable text. For text tables, for example, that
    // line 1 names the columns, or that column 1 is left out. "" if there are none.
    std::string remark{};
};

// How to read a text table (csv, csv64, csvi64). Unset options are inferred from the table; ambiguous tables throw
// bad_file.
struct TableOptions {
    std::optional<bool> header{};  // whether the first line names the columns
    std::int64_t skip = 0;         // lines to skip at the start, regardless of contents
    bool decimal_comma = false;    // 1,5 is 1.5, and commas do not separate cells
    std::string columns{};  // columns to read, in that order: "2-", "1,4-6", "x,y"; numbers count from 1; "": all
};
// The name of a format with these options, accepted by every function that takes a format name for reading:
// "csv:header=no:skip=2:columns=2-". Throws invalid_argument for options that cannot be expressed.
KITH_EXPORT std::string table_format(const std::string& format, const TableOptions& options);

struct ReadOptions {
    // "": by the file's suffix. With ".gz" appended, gzipped regardless of the suffix. Or a result of table_format().
    std::string format{};
    // Called from the calling thread many times a second while a file is opened or read. Returning false cancels: the
    // call throws Error{cancelled}.
    std::function<bool()> proceed{};
    // True if all rows will be in memory at once. If the header of a compressed file implies that it does not fit
    // (kith/memory.h), out_of_memory is thrown before the rest is decompressed.
    bool whole = false;
};

// Reads a matrix by rows. `path` may include a data set (file.hdf5/train, file.npz/arr_0; not needed if there is only
// one) and a row range (file.fvecs:1000:5000 is rows 1000 to 5999; file.fvecs:1000: is row 1000 to the last). The
// format follows the extension unless named. "-" or "/dev/stdin" is standard input with a named format: all of it is
// copied to a temporary file, once per process. Throws bad_file, naming the file, the offset and what was expected,
// also if the file changes while it is read. A hostile header never causes an allocation beyond the file's own size
// (text: eight times that).
class MatrixReader {
public:
    KITH_EXPORT explicit MatrixReader(const std::string& path, const std::string& format = "");
    KITH_EXPORT MatrixReader(const std::string& path, const ReadOptions& options);
    KITH_EXPORT ~MatrixReader();
    KITH_EXPORT MatrixReader(MatrixReader&&) noexcept;
    KITH_EXPORT MatrixReader& operator=(MatrixReader&&) noexcept;

    KITH_EXPORT const FileInfo& info() const;  // of the selected rows
    // Reads rows [first, first + count) of the selection, row-major and dense, into count * cols elements of
    // info().type.
    KITH_EXPORT void read(std::int64_t first, std::int64_t count, void* out);

private:
    friend struct Matrix read_matrix(MatrixReader& reader);
    struct State;
    std::unique_ptr<State> state_;
};

// A whole matrix in memory.
struct Matrix {
    FileInfo info;
    std::vector<std::byte> bytes;
    MatrixView view() const {
        return {bytes.data(), info.rows, info.cols, info.cols, info.type, Layout::row_major, host_memory};
    }
};
// Throws out_of_memory, before allocating, if the matrix exceeds the free memory (kith/memory.h).
KITH_EXPORT Matrix read_matrix(const std::string& path, const std::string& format = "");
KITH_EXPORT Matrix read_matrix(const std::string& path, const ReadOptions& options);  // `whole` is implied
KITH_EXPORT Matrix read_matrix(MatrixReader& reader);

// The names of the data sets in a file (hdf5: "train", "group/points"; truth: "ids", "distances"), each readable as
// path/NAME; empty for a format of one matrix. Throws bad_file.
KITH_EXPORT std::vector<std::string> data_sets(const std::string& path, const std::string& format = "");

// Writes a matrix by rows. Throws invalid_argument if the format cannot hold `type`.
class MatrixWriter {
public:
    // `path` must have been added to `outputs`, which must outlive the writer; its commit() renames the file.
    KITH_EXPORT MatrixWriter(OutputSet& outputs, const std::string& path, const FileInfo& info);
    // Uses an OutputSet of its own; info.format "": by extension. Without commit() the destructor removes the file.
    KITH_EXPORT MatrixWriter(const std::string& path, const FileInfo& info, bool force = false);
    KITH_EXPORT ~MatrixWriter();
    KITH_EXPORT MatrixWriter(MatrixWriter&&) noexcept;
    KITH_EXPORT MatrixWriter& operator=(MatrixWriter&&) noexcept;

    KITH_EXPORT const FileInfo& info() const;
    KITH_EXPORT void append(const void* rows, std::int64_t count);  // row-major, dense, of info.type
    KITH_EXPORT void commit();                                      // requires that all rows have been appended

private:
    struct State;
    void open(OutputSet& outputs, const std::string& path, const FileInfo& info);
    std::unique_ptr<State> state_;
};

// Writes an ann-benchmarks HDF5 file: neighbors (i32 if the ids fit, else i64) and distances (f32 or f64); attributes
// type, dimension, point_type, distance and kith_metric; `train` and `test` if given (data != nullptr). `distance` is
// ann-benchmarks' word for the metric (euclidean, angular, hamming, jaccard), or kith's if it has none. kith_metric is
// kith's name, with its parameters in kith_p, ... Other contents of the file stay. Existing data of these names are
// replaced with `force`, and rejected without it.
KITH_EXPORT void write_ann_benchmarks(const std::string& path, const Neighbors& neighbors, const Metric& metric,
                                      const MatrixView& train, const MatrixView& test, bool force = false);
// Likewise into a file that was added to `outputs`, with data for train and test.
KITH_EXPORT void write_ann_benchmarks(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
                                      const MatrixView& train, const MatrixView& test);
// The metric, with its parameters, that an HDF5 file's attributes name: kith_metric, else distance; none if it has
// neither. `path` may name a data set in the file. Throws bad_file if it is not an HDF5 file, or if its metric needs
// data that a file does not hold (a functor, a given inverse covariance); invalid_argument for an unknown metric.
// *by_kith: whether kith_metric named it.
KITH_EXPORT std::optional<Metric> read_ann_benchmarks_metric(const std::string& path, bool* by_kith = nullptr);

// Writes neighbours as a sparse matrix, queries x points, that scipy.sparse.load_npz reads: format csr. The data are
// the distances, f32 or f64, in the order of each row (not of the ids). Indices are i32, or i64 if i32 is too small.
// Missing neighbours are left out; distances of 0 are stored.
KITH_EXPORT void write_csr(const std::string& path, const Neighbors& neighbors, std::int64_t points);
// Likewise into a file that was added to `outputs` as bytes.
KITH_EXPORT void write_csr(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
                           std::int64_t points);

// A big-ann ground-truth file: u32 q, u32 k, then q x k i32 ids, then q x k f32 distances.
KITH_EXPORT void write_big_ann_truth(const std::string& path, const Neighbors& neighbors);
KITH_EXPORT void write_big_ann_truth(OutputSet& outputs, const std::string& path, const Neighbors& neighbors);
KITH_EXPORT Neighbors read_big_ann_truth(const std::string& path);

// True if this build has a format of that name. A build without libhdf5 lacks "hdf5", and with it ann-benchmarks'
// files; a build without Apache Arrow lacks "parquet".
KITH_EXPORT bool has_format(const std::string& name);

// The names and extensions of the formats, one per line, as human-readable text.
KITH_EXPORT std::string formats_help();

}  // namespace kith
