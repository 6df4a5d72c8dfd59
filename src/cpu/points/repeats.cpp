// Rows are put into buckets by a hash of their bits, each bucket is sorted by (hash, id), and each
// row is compared with the one before it: a hash that two different rows share makes runs of equal
// rows shorter, never wrong.
#include "cpu/points/repeats.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "exact/watched.h"

namespace kith::cpu {

namespace {

// So many rows that equal one are worth leaving out.
constexpr std::uint32_t many_repeats = 256;
// Rows that are looked at for equal ones, and how many of one kind say that these are worth leaving
// out at once: a thirty-second of all, where a twentieth is more than lists hold.
constexpr std::int64_t sampled_rows = 256;
constexpr std::ptrdiff_t likely_repeats = 8;
// Rows of a bucket, about, and between two polls.
constexpr std::int64_t bucket_rows = 1 << 14, rows_per_poll = 1 << 16;

struct HashedRow {
    std::uint64_t hash;
    std::int64_t id;
};

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of splitmix64 (Steele 2014)
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

std::uint64_t hash_of(const std::byte* row, std::size_t bytes) {
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    std::uint64_t sum = 0, at = 0;
    for (std::size_t i = 0; i < bytes; i += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, row + i, std::min(word_bytes, bytes - i));
        at += 0x9e3779b97f4a7c15ULL;
        sum += mixed(word + at);
    }
    return sum;
}

// The bits of rows.
class RowBits {
public:
    explicit RowBits(const MatrixView& rows)
        : first_(static_cast<const std::byte*>(rows.data)),
          stride_(static_cast<std::size_t>(rows.stride) * size_of(rows.type)),
          bytes_(static_cast<std::size_t>(rows.cols) * size_of(rows.type)) {}
    std::uint64_t hash(std::int64_t id) const { return hash_of(at(id), bytes_); }
    bool equal(std::int64_t a, std::int64_t b) const {
        return std::memcmp(at(a), at(b), bytes_) == 0;
    }

private:
    const std::byte* at(std::int64_t id) const {
        return first_ + static_cast<std::size_t>(id) * stride_;
    }
    const std::byte* first_;
    std::size_t stride_, bytes_;
};

}  // namespace

bool Repeats::likely(const MatrixView& rows) {
    const RowBits bits(rows);
    const std::int64_t count = std::min(rows.rows, sampled_rows);
    std::vector<std::uint64_t> hashes;
    for (std::int64_t i = 0; i < count; ++i) hashes.push_back(bits.hash(i * rows.rows / count));
    std::sort(hashes.begin(), hashes.end());
    for (auto same = hashes.begin(); hashes.end() - same >= likely_repeats; ++same)
        if (same[likely_repeats - 1] == *same) return true;
    return false;
}

std::shared_ptr<const Repeats> Repeats::count(const MatrixView& rows, int threads,
                                              ProgressMeter& progress) try {
    const std::int64_t n = rows.rows;
    const RowBits bits(rows);
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
    constexpr std::int64_t values_per_task = 1 << 18;
    watched_for(threads, n, std::max<std::int64_t>(1, values_per_task / rows.cols), progress,
                "prepare", [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t id = first; id < last; ++id)
                        hashes[static_cast<std::size_t>(id)] = bits.hash(id);
                });
    progress.throw_if_cancelled();
    // Every row to its bucket, ids in order.
    const auto buckets = static_cast<std::uint64_t>(n / bucket_rows + 1);
    const auto bucket_of = [&](std::int64_t id) {
        return static_cast<std::size_t>(hashes[static_cast<std::size_t>(id)] % buckets);
    };
    const auto each_row = [&](const auto& work) {
        for (std::int64_t id = 0; id < n; ++id) {
            work(id);
            if (id % rows_per_poll != 0) continue;
            progress.poll("prepare");
            progress.throw_if_cancelled();
        }
    };
    std::vector<std::int64_t> ends(buckets + 1, 0);
    each_row([&](std::int64_t id) { ++ends[bucket_of(id) + 1]; });
    for (std::size_t b = 0; b < buckets; ++b) ends[b + 1] += ends[b];
    std::vector<HashedRow> sorted(static_cast<std::size_t>(n));
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    each_row([&](std::int64_t id) {
        sorted[static_cast<std::size_t>(next[bucket_of(id)]++)] = {
            hashes[static_cast<std::size_t>(id)], id};
    });
    auto repeats = std::make_shared<Repeats>();
    repeats->earlier_.resize(static_cast<std::size_t>(n));
    std::vector<std::uint32_t> most(buckets, 0);
    watched_tasks(
        threads, static_cast<std::int64_t>(buckets), progress, "prepare", [&](std::int64_t b) {
            const auto at = static_cast<std::size_t>(b);
            const auto begin = sorted.begin() + ends[at], end = sorted.begin() + ends[at + 1];
            std::stable_sort(
                begin, end, [](const HashedRow& l, const HashedRow& r) { return l.hash < r.hash; });
            std::uint32_t before = 0;
            for (auto row = begin; row != end; ++row) {
                const bool equal = row != begin && row->hash == (row - 1)->hash &&
                                   bits.equal(row->id, (row - 1)->id);
                before = equal ? before + 1 : 0;
                repeats->earlier_[static_cast<std::size_t>(row->id)] = before;
                most[at] = std::max(most[at], before);
            }
        });
    progress.throw_if_cancelled();
    return *std::max_element(most.begin(), most.end()) >= many_repeats ? repeats : nullptr;
} catch (const std::bad_alloc&) {
    return nullptr;  // the scan needs less
}

}  // namespace kith::cpu
