// Matrices from files and to files, in blocks of rows that Ctrl-C can stop between.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "kith/io.h"
#include "kith/types.h"

namespace kith::cli {

// A whole matrix.
Matrix load_matrix(const std::string& path, const std::string& format);
// A whole matrix to search in: integers of 32 and 64 bits become f32 where that holds each of them, else f64. Throws
// invalid_argument where neither does.
Matrix load_points(const std::string& path, const std::string& format);
// As above, for rows that have been read; messages name `what`.
Matrix to_points(Matrix matrix, const std::string& what);
// Rows [first, first + count), as the file has them; messages name `what`. Throws out_of_memory where they do not fit.
// `take`, unless empty, is given the bytes block by block, in order, as they come.
Matrix read_rows(MatrixReader& reader, std::int64_t first, std::int64_t count, const std::string& what,
                 const std::function<void(const std::byte*, std::size_t)>& take = {});
// To read files of that format in a way that Ctrl-C stops, and `dropped`, where there is one, once it is true.
ReadOptions reading(const std::string& format, const std::atomic<bool>* dropped = nullptr);

// The path of points or queries: an HDF5 file named without a data set stands for its `part` ("train", "test") where it
// has that.
std::string part_of(const std::string& path, const std::string& format, const char* part);

// Elements of any type as doubles (i64 beyond 2^53 are rounded).
std::vector<double> to_doubles(const Matrix& matrix);
// Elements of an integer type. Throws invalid_argument naming `what` for other types.
std::vector<std::int64_t> to_ids(const Matrix& matrix, const std::string& what);

// A writer of rows x cols of the first of `types` that the format of `path`, one of the outputs, holds.
MatrixWriter open_writer(OutputSet& outputs, const std::string& path, std::int64_t rows, std::int64_t cols,
                         std::initializer_list<ElementType> types);

// rows x cols values of i64 or f64 to a file that was added to `outputs`; nothing where `path` is "".
template <class T>
void write_values(OutputSet& outputs, const std::string& path, std::int64_t rows, std::int64_t cols,
                  const std::vector<T>& values) {
    if (path.empty()) return;
    MatrixWriter writer = open_writer(outputs, path, rows, cols, {view(values.data(), rows, cols).type});
    writer.append(values.data(), rows);
    writer.commit();
}

// The files of ids and of distances that a command was asked for, of those that were added to its outputs; "": none.
class ResultFiles {
public:
    // Ids of `points` points, as i64, or as i32 to a format that holds no other; distances as f32, or as f64 where the
    // search gives f64. Throws where a format does not hold them: better before a long search than after.
    ResultFiles(OutputSet& outputs, const std::string& ids, const std::string& distances, std::int64_t rows,
                std::int64_t k, std::int64_t points, bool f64);
    void write(const Neighbors& neighbors);
    // Likewise, in parts: the next rows, until there were `rows` of them, and the end.
    void append(const Neighbors& neighbors);
    void finish();

private:
    void append_ids(const Neighbors& neighbors);
    void append_distances(const Neighbors& neighbors);

    std::optional<MatrixWriter> ids_;
    std::optional<MatrixWriter> distances_;
};

// Throws invalid_argument, naming `file`, where 32 bits do not hold the ids of this many points.
void require_narrow_ids(const std::string& file, std::int64_t points);

// The kind of the file of --out, by its name. Throws invalid_argument for other names.
enum class OutKind { none, ann_benchmarks, big_ann };
OutKind kind_of(const std::string& path);

// "file.hdf5", "file.h5": names without a data set.
bool is_hdf5(const std::string& path);
// The data set that such a name stands for; other names as they are.
std::string with_data_set(const std::string& path, const char* data_set);
// True if the file's size is that of the big-ann ground truth its first eight bytes announce, or of its ids alone.
bool is_big_ann_truth(const std::string& path);
// True if "FILE/ids" or "FILE/distances" is there in one.
bool opens_as_truth(const std::string& part);

}  // namespace kith::cli
