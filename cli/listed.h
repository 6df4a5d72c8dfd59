// A file of neighbours to be verified: what it lists, and what it says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::cli {

// The contents of an HDF5 file of results next to the neighbours; of other files nothing is known.
struct ResultFile {
    explicit ResultFile(std::string path);
    bool has(const char* data_set) const;
    std::string part(const char* data_set) const { return path + "/" + data_set; }

    std::string path;
    bool hdf5 = false;
    std::vector<std::string> data_sets;
    // The metric by its attributes, which may have been written by others than kith.
    std::optional<Metric> metric(bool& by_kith) const;
    // True if it has distances next to the ids.
    bool holds_distances() const;
};

struct Listed {
    std::int64_t rows = 0;
    std::int64_t stride = 0;  // ids of a row in the file
    std::int64_t k = 0;       // those to check, from the first on
    std::vector<std::int64_t> ids;
    std::vector<double> distances;  // or none
    bool f64 = false;               // the file has them as f64

    std::size_t at(std::int64_t row, std::int64_t place) const {
        return static_cast<std::size_t>(row * stride + place);
    }
};

// `queries` rows of ids, at most k of each where k > 0, and their distances unless `distances` is "". Throws
// invalid_argument where shapes disagree.
Listed load_listed(const std::string& ids, const std::string& distances, std::int64_t queries, std::int64_t k);

}  // namespace kith::cli
