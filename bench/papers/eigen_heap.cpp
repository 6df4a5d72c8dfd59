// A thread takes blocks of queries, and for each the points block by block: a product by Eigen, then heaps.
#include "papers/eigen_heap.h"

#include <Eigen/Core>
#include <algorithm>
#include <utility>
#include <vector>

#include "machine/parallel.h"
#include "timing.h"

namespace kith::bench::papers {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const Matrix>;
using Entry = std::pair<float, std::int64_t>;  // distance without the query's norm, id

constexpr std::int64_t query_block = 16, point_block = 4096;

void search_block(const View& points, const Eigen::VectorXf& norms, const View& queries, std::int64_t k,
                  std::int64_t* ids) {
    std::vector<std::vector<Entry>> heaps(static_cast<std::size_t>(queries.rows()));
    Matrix values;
    for (std::int64_t first = 0; first < points.rows(); first += point_block) {
        const std::int64_t count = std::min(point_block, static_cast<std::int64_t>(points.rows()) - first);
        values.noalias() = -2 * (queries * points.middleRows(first, count).transpose());
        values.rowwise() += norms.segment(first, count).transpose();
        for (std::int64_t i = 0; i < queries.rows(); ++i) {
            std::vector<Entry>& heap = heaps[static_cast<std::size_t>(i)];
            for (std::int64_t j = 0; j < count; ++j) {
                const Entry entry{values(i, j), first + j};
                if (std::ssize(heap) == k) {
                    if (!(entry < heap.front())) continue;
                    std::pop_heap(heap.begin(), heap.end());
                    heap.back() = entry;
                } else {
                    heap.push_back(entry);
                }
                std::push_heap(heap.begin(), heap.end());
            }
        }
    }
    for (std::vector<Entry>& heap : heaps) {
        std::sort_heap(heap.begin(), heap.end());
        for (const Entry& entry : heap) *ids++ = entry.second;
    }
}

}  // namespace

std::string eigen_missing() {
    return "";
}

double eigen_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                    std::int64_t k, int threads, std::int64_t* ids) {
    const View all(points, n, d);
    const int count = threads ? threads : machine::default_threads();
    return timed([&] {
        const Eigen::VectorXf norms = all.rowwise().squaredNorm();
#pragma omp parallel for schedule(dynamic) num_threads(count)
        for (std::int64_t first = 0; first < q; first += query_block)
            search_block(all, norms, View(queries + first * d, std::min(query_block, q - first), d), k,
                         ids + first * k);
    });
}

}  // namespace kith::bench::papers
