// A file of neighbours to be verified.
#include "listed.h"

#include <fmt/format.h>

#include <algorithm>

#include "files.h"
#include "kith/error.h"
#include "kith/io.h"
#include "print.h"

namespace kith::cli {
namespace {

// Result files: a bare HDF5 name is ann-benchmarks', and a .bin may be big-ann's.
MatrixReader open_result(const std::string& path, const char* hdf5_name, const char* truth_name) {
    const auto open = [](const std::string& file, const char* format) {
        ReadOptions options = reading(format);
        options.whole = true;
        return MatrixReader(file, options);
    };
    if (is_hdf5(path)) return open(path + "/" + hdf5_name, "");
    return is_big_ann_truth(path) ? open(path + "/" + truth_name, "truth") : open(path, "");
}

}  // namespace

ResultFile::ResultFile(std::string path_) : path(std::move(path_)), hdf5(is_hdf5(path)) {
    if (hdf5) data_sets = kith::data_sets(path);
    if (has("size_train") || has("size_test")) {
        throw Error(
            ErrorCode::bad_file,
            fmt::format("{}: holds sets of different sizes (ann-benchmarks' type sparse); expected dense rows", path));
    }
}

bool ResultFile::has(const char* data_set) const {
    return std::find(data_sets.begin(), data_sets.end(), data_set) != data_sets.end();
}

std::optional<Metric> ResultFile::metric(bool& by_kith) const {
    by_kith = false;
    return hdf5 ? read_ann_benchmarks_metric(path, &by_kith) : std::nullopt;
}

bool ResultFile::holds_distances() const {
    return has("distances") || (is_big_ann_truth(path) && opens_as_truth(path + "/distances"));
}

Listed load_listed(const std::string& ids_file, const std::string& distances_file, std::int64_t queries,
                   std::int64_t k) {
    Listed listed;
    // Shapes are compared before anything is read.
    MatrixReader ids_reader = open_result(ids_file, "neighbors", "ids");
    listed.rows = ids_reader.info().rows;
    listed.stride = ids_reader.info().cols;
    listed.k = k > 0 ? k : listed.stride;
    if (listed.rows != queries) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has {}, and there are {}", ids_file, counted(listed.rows, "row", "rows"),
                                counted(queries, "query", "queries")));
    }
    if (listed.k > listed.stride) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("-k {}: {} has only {} ids in a row", listed.k, ids_file, listed.stride));
    }
    std::optional<MatrixReader> distances_reader;
    if (!distances_file.empty()) {
        distances_reader.emplace(open_result(distances_file, "distances", "distances"));
        const FileInfo& info = distances_reader->info();
        if (info.rows != listed.rows || info.cols != listed.stride) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("the distances in {} are {} x {}, and the ids in {} are {} x {}", distances_file,
                                    info.rows, info.cols, ids_file, listed.rows, listed.stride));
        }
        listed.f64 = info.type == ElementType::f64;
    }
    listed.ids = to_ids(read_matrix(ids_reader), ids_file);
    if (distances_reader) listed.distances = to_doubles(read_matrix(*distances_reader));
    return listed;
}

}  // namespace kith::cli
