// Matrices from files and to files, in blocks of rows that Ctrl-C can stop between.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "kith/io.h"
#include "kith/types.h"

namespace kith::cli {

// A whole matrix.
Matrix load_matrix(const std::string& path, const std::string& format);

// Elements of any type as doubles (i64 beyond 2^53 are rounded).
std::vector<double> to_doubles(const Matrix& matrix);
// Elements of an integer type. Throws invalid_argument naming `what` for other types.
std::vector<std::int64_t> to_ids(const Matrix& matrix, const std::string& what);
// The rows of `matrix` named by `rows`, in that order.
Matrix gather(const MatrixView& matrix, const std::vector<std::int64_t>& rows);

// A writer of rows x cols of the first of `types` that the format of `path` holds.
MatrixWriter open_writer(const std::string& path, std::int64_t rows, std::int64_t cols,
                         std::initializer_list<ElementType> types, ElementType& chosen, const std::string& format = "");
// Ids are written as i64, or as i32 to a format that holds no other.
void write_ids(const std::string& path, const Neighbors& neighbors);
// f32, or f64 where the neighbours carry f64.
void write_distances(const std::string& path, const Neighbors& neighbors);

// Throws bad_file or invalid_argument if such a result could not be written: better before a long search than after.
void check_ids_writable(const std::string& path, std::int64_t rows, std::int64_t k);
void check_distances_writable(const std::string& path, std::int64_t rows, std::int64_t k, bool f64);
void check_folder_writable(const std::string& path);

// "file.hdf5", "file.h5": names without a data set.
bool is_hdf5(const std::string& path);
// Whether the file's size is that of the big-ann ground truth its first eight bytes announce.
bool is_big_ann_truth(const std::string& path);

}  // namespace kith::cli
