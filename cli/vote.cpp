// Classification by the majority of the nearest neighbours' labels.
#include "vote.h"

#include <algorithm>
#include <map>

namespace kith::cli {

int vote(const Neighbors& neighbors, std::int64_t row, std::int64_t k, const std::vector<std::int64_t>& labels) {
    struct Tally {
        std::int64_t count = 0;
        std::int64_t first = 0;
    };
    std::map<std::int64_t, Tally> tallies;
    for (std::int64_t j = 0; j < std::min(k, neighbors.k); ++j) {
        const std::int64_t id = neighbors.ids[static_cast<std::size_t>(row * neighbors.k + j)];
        if (id < 0) break;
        Tally& tally = tallies[labels[static_cast<std::size_t>(id)]];
        if (tally.count++ == 0) tally.first = j;
    }
    const auto best = std::max_element(tallies.begin(), tallies.end(), [](const auto& a, const auto& b) {
        if (a.second.count != b.second.count) return a.second.count < b.second.count;
        return a.second.first > b.second.first;
    });
    return best == tallies.end() ? -1 : static_cast<int>(best->first);
}

double accuracy(const Neighbors& neighbors, std::int64_t k, const std::vector<std::int64_t>& labels,
                const std::vector<std::int64_t>& own_labels) {
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < neighbors.queries; ++i) {
        right += vote(neighbors, i, k, labels) == own_labels[static_cast<std::size_t>(i)];
    }
    return static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(1, neighbors.queries));
}

}  // namespace kith::cli
