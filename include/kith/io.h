// Reading and writing matrices in the field's file formats, in blocks of rows.
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

// What a file's header says, checked against its size.
struct FileInfo {
    std::string format;  // "fvecs", "npy", "hdf5", ...
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    ElementType type = ElementType::f32;
    // What a reader found out of a file that does not say it, for a person to read: of a table in text, that line 1
    // names the columns, or that column 1 is left out. "" where there was nothing to find out.
    std::string remark{};
};

// How a table in text (csv, csv64, csvi64) is to be read. What is not said is found out from the table; where it may be
// read in two ways, reading it throws bad_file.
struct TableOptions {
    std::optional<bool> header{};  // whether the first line names the columns
    std::int64_t skip = 0;         // lines before the first, whatever they hold
    bool decimal_comma = false;    // 1,5 is 1.5, and a comma separates no cells
    std::string columns{};         // those to read, in that order: "2-", "1,4-6", "x,y"; numbers count from 1; "": all
};
// The name of a format with these options, as every function takes it that takes the name of a format to read:
// "csv:header=no:skip=2:columns=2-". Throws invalid_argument for what cannot be read so.
KITH_EXPORT std::string table_format(const std::string& format, const TableOptions& options);

struct ReadOptions {
    // "": by the file's suffix; with ".gz" behind it, gzipped whatever the suffix; or as table_format() makes it.
    std::string format{};
    // Called from the calling thread many times a second while a file is opened or read; false cancels: the call throws
    // Error{cancelled}.
    std::function<bool()> proceed{};
    // Whether all rows will be in memory at once: a compressed file whose header says that it does not fit
    // (kith/memory.h) is then refused as out_of_memory before the rest of it is decompressed.
    bool whole = false;
};

// Reads a matrix by rows. `path` may carry a data set (file.hdf5/train, file.npz/arr_0; a file of one needs no name)
// and a row range (file.fvecs:1000:5000 is rows 1000 to 5999; file.fvecs:1000: is row 1000 to the last). The format
// follows the extension unless named. "-" or "/dev/stdin" is standard input, of a named format: all of it is copied to
// a temporary file, once in a process. Throws bad_file naming the file, the offset and what was expected, also where
// the file changes while it is read; a hostile header never causes an allocation beyond the file's own size (text:
// eight times that).
class MatrixReader {
public:
    KITH_EXPORT explicit MatrixReader(const std::string& path, const std::string& format = "");
    KITH_EXPORT MatrixReader(const std::string& path, const ReadOptions& options);
    KITH_EXPORT ~MatrixReader();
    KITH_EXPORT MatrixReader(MatrixReader&&) noexcept;
    KITH_EXPORT MatrixReader& operator=(MatrixReader&&) noexcept;

    KITH_EXPORT const FileInfo& info() const;  // of the selected rows
    // Rows [first, first + count) of the selection, row-major and dense, into count * cols elements of info().type.
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
// Throws out_of_memory before it allocates where the matrix does not fit into what is free (kith/memory.h).
KITH_EXPORT Matrix read_matrix(const std::string& path, const std::string& format = "");
KITH_EXPORT Matrix read_matrix(const std::string& path, const ReadOptions& options);  // `whole` whatever it says
KITH_EXPORT Matrix read_matrix(MatrixReader& reader);

// The names of the data sets in a file (hdf5: "train", "group/points"; truth: "ids", "distances"), each to be read as
// path/NAME; none for a format of one matrix. Throws bad_file.
KITH_EXPORT std::vector<std::string> data_sets(const std::string& path, const std::string& format = "");

// Writes a matrix by rows. Formats that cannot hold `type` throw invalid_argument.
class MatrixWriter {
public:
    // Of a path that was added to `outputs`, which must outlive the writer; its commit() renames the file.
    KITH_EXPORT MatrixWriter(OutputSet& outputs, const std::string& path, const FileInfo& info);
    // Of an OutputSet of its own; info.format "": by extension. Without commit() the destructor leaves nothing behind.
    KITH_EXPORT MatrixWriter(const std::string& path, const FileInfo& info, bool force = false);
    KITH_EXPORT ~MatrixWriter();
    KITH_EXPORT MatrixWriter(MatrixWriter&&) noexcept;
    KITH_EXPORT MatrixWriter& operator=(MatrixWriter&&) noexcept;

    KITH_EXPORT const FileInfo& info() const;
    KITH_EXPORT void append(const void* rows, std::int64_t count);  // row-major, dense, of info.type
    KITH_EXPORT void commit();                                      // all rows must have been appended

private:
    struct State;
    void open(OutputSet& outputs, const std::string& path, const FileInfo& info);
    std::unique_ptr<State> state_;
};

// An ann-benchmarks HDF5 file: neighbors (i32 where the ids fit, else i64) and distances (f32 or f64), attributes type,
// dimension, point_type, distance (ann-benchmarks' word for the metric: euclidean, angular, hamming, jaccard; kith's
// where it has none) and kith_metric (kith's name, its parameters beside it as kith_p, ...); `train` and `test` as well
// when given (data != nullptr). What the file holds besides stays; what it holds of these is replaced with `force` and
// refused without.
KITH_EXPORT void write_ann_benchmarks(const std::string& path, const Neighbors& neighbors, const Metric& metric,
                                      const MatrixView& train, const MatrixView& test, bool force = false);
// The same into a file that was added to `outputs`, with data for train and test.
KITH_EXPORT void write_ann_benchmarks(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
                                      const MatrixView& train, const MatrixView& test);
// The metric, with its parameters, that an HDF5 file's attributes name: kith_metric, else distance; none where it has
// neither. `path` may name a data set in the file. Throws bad_file where it is no HDF5 file, or where its metric needs
// what a file does not hold (a functor, a given inverse covariance); invalid_argument for a metric that kith lacks.
// *by_kith: whether it was kith_metric.
KITH_EXPORT std::optional<Metric> read_ann_benchmarks_metric(const std::string& path, bool* by_kith = nullptr);

// Neighbours as a sparse matrix, queries x points, that scipy.sparse.load_npz reads: format csr, the distances as data
// in the order of each row (not of the ids), f32 or f64; indices i32, or i64 where i32 is too small. Missing neighbours
// are left out, distances of 0 are stored.
KITH_EXPORT void write_csr(const std::string& path, const Neighbors& neighbors, std::int64_t points);
// The same into a file that was added to `outputs` as bytes.
KITH_EXPORT void write_csr(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
                           std::int64_t points);

// A big-ann ground-truth file: u32 q, u32 k, then q x k i32 ids, then q x k f32 distances.
KITH_EXPORT void write_big_ann_truth(const std::string& path, const Neighbors& neighbors);
KITH_EXPORT void write_big_ann_truth(OutputSet& outputs, const std::string& path, const Neighbors& neighbors);
KITH_EXPORT Neighbors read_big_ann_truth(const std::string& path);

// Does this build have a format of that name? One without libhdf5 lacks "hdf5", and ann-benchmarks' files with it; one
// without Apache Arrow lacks "parquet".
KITH_EXPORT bool has_format(const std::string& name);

// The names and extensions of the formats, one per line, for a person to read.
KITH_EXPORT std::string formats_help();

}  // namespace kith
