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

// Whether a file is a big-ann ground truth, of ids and distances: a .bin may be one.
bool is_truth(const std::string& path) {
    return path.ends_with(".truth") || path.ends_with(".gt") ||
           ((path.ends_with(".bin") || path.ends_with(".ibin")) && is_big_ann_truth(path));
}

// Result files: a bare HDF5 name is ann-benchmarks'.
Matrix load_result(const std::string& path, const char* hdf5_name, const char* truth_name) {
    if (is_hdf5(path)) return load_matrix(path + "/" + hdf5_name, "");
    return is_truth(path) ? load_matrix(path + "/" + truth_name, "truth") : load_matrix(path, "");
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
    return has("distances") || (is_truth(path) && is_big_ann_truth(path));
}

Listed load_listed(const std::string& ids_file, const std::string& distances_file, std::int64_t queries,
                   std::int64_t k) {
    Listed listed;
    const Matrix ids = load_result(ids_file, "neighbors", "ids");
    listed.rows = ids.info.rows;
    listed.stride = ids.info.cols;
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
    listed.ids = to_ids(ids, ids_file);
    if (!distances_file.empty()) {
        const Matrix distances = load_result(distances_file, "distances", "distances");
        if (distances.info.rows != listed.rows || distances.info.cols != listed.stride) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("the distances in {} are {} x {}, and the ids in {} are {} x {}", distances_file,
                                    distances.info.rows, distances.info.cols, ids_file, listed.rows, listed.stride));
        }
        listed.f64 = distances.info.type == ElementType::f64;
        listed.distances = to_doubles(distances);
    }
    return listed;
}

}  // namespace kith::cli
