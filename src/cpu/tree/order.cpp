// A k-d tree's order by selection of medians: ranges larger than a block one level after the other,
// each block then on a copy of its rows that stays in the cache.
#include "cpu/tree/order.h"

#include <algorithm>
#include <vector>

#include "cpu/primitives/buffer.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// Rows of which the widest coordinate is estimated.
constexpr std::int64_t sampled = 64;
// Rows of a block, about: with three coordinates and what is sorted they fit into L2.
constexpr std::int64_t block_rows = 8192;
// A selection among more is cut into passes, between which the progress is looked at.
constexpr std::int64_t pass_rows = 1 << 22, pivot_sample = 1024;

struct Entry {
    double value;     // of the coordinate that is split
    std::int64_t at;  // row
};

std::int64_t widest(const Entry* entries, std::int64_t count, const double* rows, std::int64_t d) {
    if (d == 1) return 0;
    const std::int64_t step = (count + sampled - 1) / sampled;
    double extent = 0;
    std::int64_t best = 0;
    for (std::int64_t j = 0; j < d; ++j) {
        double low = rows[entries[0].at * d + j], high = low;
        for (std::int64_t i = step; i < count; i += step) {
            const double x = rows[entries[i].at * d + j];
            low = std::min(low, x);
            high = std::max(high, x);
        }
        if (!(high - low > extent)) continue;
        extent = high - low;
        best = j;
    }
    return best;
}

// Brings the `left` smallest of the entries before the others.
template <class Less, class GoOn>
void select(Entry* first, Entry* last, std::int64_t left, const Less& less, const GoOn& go_on) {
    Entry* const middle = first + left;
    while (last - first > pass_rows && go_on()) {
        std::vector<Entry> sample;
        const std::int64_t count = last - first, step = count / pivot_sample;
        for (std::int64_t i = 0; i < count; i += step) sample.push_back(first[i]);
        const auto share = static_cast<double>(middle - first) / static_cast<double>(count);
        const auto pivot = sample.begin() + static_cast<std::ptrdiff_t>(
                                                share * static_cast<double>(sample.size() - 1));
        std::nth_element(sample.begin(), pivot, sample.end(), less);
        Entry* const cut =
            std::partition(first, last, [&](const Entry& e) { return less(e, *pivot); });
        if (cut == middle) return;
        if (cut == first || cut == last) break;
        (cut < middle ? first : last) = cut;
    }
    if (go_on()) std::nth_element(first, middle, last, less);
}

// Splits the ranges of `span` entries among `count` of them that the numbers [begin, end) count.
template <class Less, class GoOn>
void split(Entry* entries, std::int64_t count, std::int64_t range, std::int64_t span,
           const double* rows, std::int64_t d, const Less& less, const GoOn& go_on) {
    const std::int64_t first = range * span, last = std::min(count, first + span), left = span / 2;
    if (last - first <= left) return;
    const std::int64_t j = widest(entries + first, last - first, rows, d);
    for (std::int64_t i = first; i < last; ++i) entries[i].value = rows[entries[i].at * d + j];
    select(entries + first, entries + last, left, less, go_on);
}

void order_block(const double* rows, std::int64_t d, const Entry* block, std::int64_t count,
                 std::int64_t span, std::int64_t leaf, std::int64_t* numbers) {
    std::vector<double> own(static_cast<std::size_t>(count * d));
    std::vector<Entry> entries(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(rows + block[i].at * d, d, own.data() + i * d);
        entries[static_cast<std::size_t>(i)].at = i;
    }
    const auto less = [block](const Entry& a, const Entry& b) {
        return a.value < b.value || (a.value == b.value && block[a.at].at < block[b.at].at);
    };
    for (; span > leaf; span /= 2) {
        for (std::int64_t range = 0; range * span < count; ++range)
            split(entries.data(), count, range, span, own.data(), d, less, [] { return true; });
    }
    for (std::int64_t i = 0; i < count; ++i)
        numbers[i] = block[entries[static_cast<std::size_t>(i)].at].at;
}

}  // namespace

void order_rows(const double* rows, std::int64_t d, std::int64_t* numbers, std::int64_t count,
                std::int64_t leaf, int threads, ProgressMeter& progress) {
    if (count <= leaf) return;
    const Buffer<Entry> entries(count);
    watched_for(threads, count, block_rows, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) entries[i] = {0, numbers[i]};
                });
    std::int64_t span = leaf;
    while (span < count) span *= 2;
    const auto less = [](const Entry& a, const Entry& b) {
        return a.value < b.value || (a.value == b.value && a.at < b.at);
    };
    for (; span > std::max(block_rows, leaf); span /= 2) {
        watched_tasks(threads, (count + span - 1) / span, progress, "prepare",
                      [&](std::int64_t range, int worker) {
                          split(entries.data(), count, range, span, rows, d, less, [&] {
                              if (worker == 0) progress.poll("prepare");
                              return !progress.cancelled();
                          });
                      });
    }
    watched_for(
        threads, count, span, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
            order_block(rows, d, entries.data() + first, last - first, span, leaf, numbers + first);
        });
}

}  // namespace kith::cpu
