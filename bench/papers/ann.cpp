// ANN 1.1: a k-d tree by its suggested rule, one point a leaf (its defaults), standard search.
#include "papers/ann.h"

#include <ANN/ANN.h>

#include <memory>
#include <vector>

namespace kith::bench::papers {

namespace {

// A matrix as ANN reads it: pointers to rows of f64.
struct AnnRows {
    std::vector<double> values;
    std::vector<double*> rows;

    AnnRows(const float* from, std::int64_t count, std::int64_t d) : values(from, from + count * d) {
        for (std::int64_t i = 0; i < count; ++i) rows.push_back(values.data() + i * d);
    }
};

}  // namespace

std::string ann_missing() {
    return "";
}

AnnSeconds ann_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                      std::int64_t k, std::int64_t* ids) {
    AnnRows of_points(points, n, d), of_queries(queries, q, d);
    std::vector<int> near(static_cast<std::size_t>(k));
    std::vector<double> distances(near.size());
    std::unique_ptr<ANNkd_tree> tree;
    AnnSeconds seconds{};
    seconds.build = clocked(
        [&] { tree = std::make_unique<ANNkd_tree>(of_points.rows.data(), static_cast<int>(n), static_cast<int>(d)); });
    seconds.search = clocked([&] {
        for (std::int64_t i = 0; i < q; ++i) {
            tree->annkSearch(of_queries.rows[static_cast<std::size_t>(i)], static_cast<int>(k), near.data(),
                             distances.data());
            for (std::int64_t j = 0; j < k; ++j) ids[i * k + j] = near[static_cast<std::size_t>(j)];
        }
    });
    tree.reset();
    annClose();
    return seconds;
}

}  // namespace kith::bench::papers
