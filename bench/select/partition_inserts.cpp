// The host's model of the top-down search: a sorted set for a queue, vectors for levels.
#include "select/partition_inserts.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "select/values.h"

namespace kith::bench {

namespace {

using Entry = std::pair<float, std::int64_t>;  // value, column

class Queue {
public:
    explicit Queue(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}

    void offer(const Entry& x) {
        if (kept_.size() == k_) {
            if (!(x < *kept_.rbegin())) return;
            kept_.erase(std::prev(kept_.end()));
        }
        kept_.insert(x);
        ++inserted_;
    }
    void restart() { kept_.clear(); }
    const std::set<Entry>& kept() const { return kept_; }
    std::int64_t inserted() const { return inserted_; }

private:
    std::size_t k_;
    std::set<Entry> kept_;
    std::int64_t inserted_ = 0;
};

// levels[0] is the row; an entry of a level is the smallest of a group of the level before.
std::vector<std::vector<Entry>> levels_of(std::vector<Entry> row, std::size_t k, std::size_t group) {
    std::vector<std::vector<Entry>> levels{std::move(row)};
    while (levels.back().size() > k) {
        const std::vector<Entry>& below = levels.back();
        std::vector<Entry> minima;
        for (std::size_t i = 0; i < below.size(); ++i) {
            if (i % group == 0) minima.push_back(below[i]);
            else minima.back() = std::min(minima.back(), below[i]);
        }
        levels.push_back(std::move(minima));
    }
    return levels;
}

}  // namespace

QueueRun run_queue(const std::vector<float>& row, std::int64_t k, std::int64_t group, Partition partition) {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < row.size(); ++i) entries.emplace_back(row[i], static_cast<std::int64_t>(i));
    const auto in_group = static_cast<std::size_t>(group);
    const std::size_t most = partition == Partition::none ? entries.size() : static_cast<std::size_t>(k);
    const auto levels = levels_of(std::move(entries), most, in_group);
    Queue queue(k);
    for (const Entry& x : levels.back()) queue.offer(x);
    std::size_t columns = 1;  // in a group of the level that is searched
    for (std::size_t level = 1; level < levels.size(); ++level) columns *= in_group;
    for (std::size_t level = levels.size() - 1; level-- > 0; columns /= in_group) {
        const std::vector<Entry>& here = levels[level];
        const std::vector<Entry> opened(queue.kept().begin(), queue.kept().end());
        if (partition == Partition::restarted) queue.restart();
        for (const Entry& minimum : opened) {
            const std::size_t first = static_cast<std::size_t>(minimum.second) / columns * in_group;
            for (std::size_t i = first; i < std::min(first + in_group, here.size()); ++i)
                if (partition == Partition::restarted || here[i] != minimum) queue.offer(here[i]);
        }
    }
    QueueRun run{queue.inserted(), {}};
    for (const Entry& x : queue.kept()) run.columns.push_back(x.second);
    return run;
}

double mean_inserted(std::int64_t n, std::int64_t k, std::int64_t group, Partition partition) {
    constexpr std::int64_t rows = 16;
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<float> row;
        for (std::int64_t column = 0; column < n; ++column) row.push_back(value_at(Order::uniform, r, column, n));
        sum += run_queue(row, k, group, partition).inserted;
    }
    return static_cast<double>(sum) / rows;
}

}  // namespace kith::bench
