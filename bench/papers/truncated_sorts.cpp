// Each sort as its name says it, with one more line: where it stops.
#include "papers/truncated_sorts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace kith::bench::papers {

namespace {

using Entries = std::vector<SortEntry>;

// k passes, each of which carries the smallest of the rest to its place.
void bubble(Entries& e, std::int64_t k) {
    for (std::size_t pass = 0; pass < static_cast<std::size_t>(k); ++pass)
        for (std::size_t i = e.size() - 1; i > pass; --i)
            if (e[i] < e[i - 1]) std::swap(e[i], e[i - 1]);
}

// Bottom-up from runs of one; of a merged run the upper part beyond k is dropped.
void merge(Entries& e, std::int64_t k) {
    Entries merged(e.size());
    std::size_t width = 1, count = e.size();
    const auto most = static_cast<std::size_t>(k);
    while (width < count) {
        const std::size_t kept = std::min(2 * width, most);
        std::size_t to = 0;
        for (std::size_t first = 0; first < count; first += 2 * width) {
            std::size_t a = first, b = std::min(first + width, count);
            const std::size_t end_a = b, end_b = std::min(first + 2 * width, count);
            for (std::size_t i = 0; i < kept && (a < end_a || b < end_b); ++i)
                merged[to++] = b == end_b || (a < end_a && !(e[b] < e[a])) ? e[a++] : e[b++];
        }
        std::swap(e, merged);
        count = to;
        width = kept;
    }
}

// A sorted array of k; what is not below its last entry is dropped.
void insertion(Entries& e, std::int64_t k) {
    std::size_t count = 0;
    const auto most = static_cast<std::size_t>(k);
    for (const SortEntry x : Entries(e)) {
        if (count == most && !(x < e[most - 1])) continue;
        std::size_t at = count < most ? count++ : most - 1;
        for (; at > 0 && x < e[at - 1]; --at) e[at] = e[at - 1];
        e[at] = x;
    }
}

// Puts x into the root of a heap with the largest on top.
void replace_root(Entries& e, std::size_t size, SortEntry x) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && e[child] < e[child + 1]) ++child;
        if (!(x < e[child])) break;
        e[at] = e[child];
        at = child;
    }
    e[at] = x;
}

// A heap of k; what is not below its root is dropped. The heap is sorted at the end.
void heap(Entries& e, std::int64_t k) {
    const auto most = static_cast<std::size_t>(k);
    std::make_heap(e.begin(), e.begin() + k);
    for (std::size_t i = most; i < e.size(); ++i)
        if (e[i] < e[0]) replace_root(e, most, e[i]);
    for (std::size_t last = most - 1; last > 0; --last) {
        const SortEntry x = e[last];
        e[last] = e[0];
        replace_root(e, last, x);
    }
}

// A side that begins at the k-th place or beyond is dropped.
void quick(Entries& e, std::int64_t first, std::int64_t last, std::int64_t k) {
    constexpr std::int64_t few = 16;
    while (last - first > few) {
        const auto at = [&](std::int64_t i) -> SortEntry& { return e[static_cast<std::size_t>(i)]; };
        const SortEntry a = at(first), b = at(first + (last - first) / 2), c = at(last - 1);
        const SortEntry pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        std::int64_t left = first, right = last - 1;
        while (left <= right) {
            while (at(left) < pivot) ++left;
            while (pivot < at(right)) --right;
            if (left <= right) std::swap(at(left++), at(right--));
        }
        if (left < k) quick(e, left, last, k);
        last = right + 1;
    }
    std::sort(e.begin() + first, e.begin() + last);
}
void quick(Entries& e, std::int64_t k) {
    quick(e, 0, static_cast<std::int64_t>(e.size()), k);
}

// The bits of a value in the order of values.
std::uint32_t key_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 is +0
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// By digits of 8 bits, the most significant first; a bucket that begins at the k-th place or beyond is dropped.
void radix(Entries& e, Entries& other, std::size_t first, std::size_t last, int shift, std::size_t k) {
    constexpr std::size_t few = 32;
    if (last - first <= few || shift < 0) {
        std::sort(e.begin() + static_cast<std::ptrdiff_t>(first), e.begin() + static_cast<std::ptrdiff_t>(last));
        return;
    }
    std::array<std::size_t, 257> begin{};
    const auto digit = [&](const SortEntry& x) { return key_of(x.value) >> static_cast<unsigned>(shift) & 255U; };
    for (std::size_t i = first; i < last; ++i) ++begin[digit(e[i]) + 1];
    begin[0] = first;
    for (std::size_t d = 0; d < 256; ++d) begin[d + 1] += begin[d];
    std::array<std::size_t, 257> to = begin;
    for (std::size_t i = first; i < last; ++i)
        if (const std::size_t d = digit(e[i]); begin[d] < k) other[to[d]++] = e[i];
    for (std::size_t d = 0; d < 256 && begin[d] < k; ++d) {
        std::copy(other.begin() + static_cast<std::ptrdiff_t>(begin[d]),
                  other.begin() + static_cast<std::ptrdiff_t>(begin[d + 1]),
                  e.begin() + static_cast<std::ptrdiff_t>(begin[d]));
        if (begin[d + 1] - begin[d] > 1) radix(e, other, begin[d], begin[d + 1], shift - 8, k);
    }
}
void radix(Entries& e, std::int64_t k) {
    Entries other(e.size());
    radix(e, other, 0, e.size(), 24, static_cast<std::size_t>(k));
}

// A bitonic run of `size` entries, in ascending or descending order.
void bitonic_merge(SortEntry* run, std::size_t size, bool up) {
    for (std::size_t apart = size / 2; apart > 0; apart /= 2)
        for (std::size_t i = 0; i < size; ++i)
            if ((i & apart) == 0 && (run[i + apart] < run[i]) == up) std::swap(run[i], run[i + apart]);
}

// Runs of k, up and down alternately; of two the smaller one of each pair of places stays, which is a bitonic run
// again.
void bitonic(Entries& e, std::int64_t k) {
    const std::size_t run = std::bit_ceil(static_cast<std::size_t>(k));
    const SortEntry last{std::numeric_limits<float>::infinity(), std::numeric_limits<std::int32_t>::max()};
    std::size_t runs = std::bit_ceil((e.size() + run - 1) / run);
    e.resize(runs * run, last);
    for (std::size_t r = 0; r < runs; ++r)
        for (std::size_t size = 2; size <= run; size *= 2)
            for (std::size_t first = 0; first < run; first += size)
                bitonic_merge(e.data() + r * run + first, size, size == run ? r % 2 == 0 : first / size % 2 == 0);
    for (; runs > 1; runs /= 2)
        for (std::size_t r = 0; r < runs / 2; ++r) {
            const SortEntry *const up = e.data() + 2 * r * run, *const down = up + run;
            SortEntry* const to = e.data() + r * run;
            for (std::size_t i = 0; i < run; ++i) to[i] = std::min(up[i], down[i]);
            bitonic_merge(to, run, r % 2 == 0);
        }
}

constexpr std::array<NamedSort, 7> all = {{{"bubble", "k passes", bubble},
                                           {"merge", "runs of k at most", merge},
                                           {"insertion", "an array of k", insertion},
                                           {"heap", "a heap of k", heap},
                                           {"quick", "sides beyond k dropped", quick},
                                           {"radix", "buckets beyond k dropped, most significant digit first", radix},
                                           {"bitonic", "runs of k, the larger half of each pair dropped", bitonic}}};

}  // namespace

std::span<const NamedSort> truncated_sorts() {
    return all;
}

}  // namespace kith::bench::papers
