// k nearest neighbours as Garcia et al. 2008 time them on a CPU, for bench/retrieval.py: a plain C loop (BF-C) and
// ANN's exact k-d tree. One thread.
#include <ANN/ANN.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

std::vector<ANNpoint> rows_of(std::vector<double>& values, std::int64_t n, int d) {
    std::vector<ANNpoint> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(values.data() + i * d);
    return rows;
}

}  // namespace

// points: n x d, queries: q x d; k <= n. distances[i] is the Euclidean distance of query i to its k-th nearest point.
// All distances of a query are computed, then an insertion sort of the k smallest: section 2 of the paper.
extern "C" void bf_c(const float* points, std::int64_t n, const float* queries, std::int64_t q, int d, int k,
                     double* distances) {
    std::vector<float> row(static_cast<std::size_t>(n)), nearest(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < q; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            float sum = 0;
            for (int c = 0; c < d; ++c) {
                const float difference = queries[i * d + c] - points[j * d + c];
                sum += difference * difference;
            }
            row[j] = sum;
        }
        int held = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            if (held == k && row[j] >= nearest[k - 1]) continue;
            int place = held < k ? held++ : k - 1;
            for (; place > 0 && nearest[place - 1] > row[j]; --place) nearest[place] = nearest[place - 1];
            nearest[place] = row[j];
        }
        distances[i] = std::sqrt(static_cast<double>(nearest[k - 1]));
    }
}

// ANN: builds the tree of the points, searches it without a tolerance, and deletes it.
extern "C" void ann(const float* points, std::int64_t n, const float* queries, std::int64_t q, int d, int k,
                    double* distances) {
    std::vector<double> held(points, points + n * d), asked(queries, queries + q * d);
    std::vector<ANNpoint> rows = rows_of(held, n, d), wanted = rows_of(asked, q, d);
    ANNkd_tree tree(rows.data(), static_cast<int>(n), d);
    std::vector<ANNidx> ids(static_cast<std::size_t>(k));
    std::vector<ANNdist> squares(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < q; ++i) {
        tree.annkSearch(wanted[i], k, ids.data(), squares.data(), 0.0);
        distances[i] = std::sqrt(squares[k - 1]);
    }
    annClose();
}
