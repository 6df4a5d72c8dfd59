// The plain scan of a sample, and rows of answers next to it.
#include "search/exact_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "gpu/backend.h"

namespace kith::bench {

namespace {

// Elements [first, first + count) of an array anywhere.
template <class T>
std::vector<T> fetch(const void* from, std::int64_t first, std::int64_t count) {
    std::vector<T> to(static_cast<std::size_t>(count));
    gpu::copy(to.data(), static_cast<const T*>(from) + first, to.size() * sizeof(T));
    return to;
}

// The first entry that differs in its bits; the size where none does.
template <class T>
std::size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
    std::size_t i = 0;
    while (i < a.size() && std::bit_cast<Bits>(a[i]) == std::bit_cast<Bits>(b[i])) ++i;
    return i;
}

}  // namespace

ExactCheck::ExactCheck(const Index& index, const MatrixView& queries, std::int64_t k, bool graph, std::int64_t sample)
    : k_(k),
      count_(std::min(sample, queries.rows)),
      step_(queries.rows / count_),
      exact_(static_cast<std::size_t>(count_), true) {
    MatrixView some = queries;
    some.rows = count_;
    some.stride *= step_;
    Options options;
    options.path = "exact";
    options.f64 = true;
    // A graph leaves a point's own id out: scan for one more, and drop it, or the last.
    const std::int64_t found = graph ? k + 1 : k;
    const Neighbors scan = index.search(some, found, options);
    for (std::int64_t i = 0; i < count_; ++i) {
        const std::int64_t end = (i + 1) * k, self = graph ? i * step_ : -1;
        for (std::int64_t j = i * found; static_cast<std::int64_t>(ids_.size()) < end; ++j) {
            const auto at = static_cast<std::size_t>(j);
            if (scan.ids[at] == self && graph) continue;
            ids_.push_back(scan.ids[at]);
            distances_.push_back(scan.distances64[at]);
        }
    }
}

void ExactCheck::hold(const NeighborsView& answer, bool f64) {
    for (std::int64_t i = 0; i < count_; ++i)
        if (!row_is_exact(i, answer, f64)) exact_[static_cast<std::size_t>(i)] = false;
}

bool ExactCheck::row_is_exact(std::int64_t i, const NeighborsView& answer, bool f64) {
    const std::int64_t row = i * step_;
    const std::vector<std::int64_t> ids(ids_.begin() + i * k_, ids_.begin() + (i + 1) * k_);
    const std::vector<double> distances(distances_.begin() + i * k_, distances_.begin() + (i + 1) * k_);
    const auto found = fetch<std::int64_t>(answer.ids, row * k_, k_);
    std::size_t at = first_difference(found, ids);
    std::vector<double> given(distances.size());
    if (f64) {
        given = fetch<double>(answer.distances, row * k_, k_);
        at = std::min(at, first_difference(given, distances));
    } else {
        const auto single = fetch<float>(answer.distances, row * k_, k_);
        std::ranges::copy(single, given.begin());
        at = std::min(at, first_difference(single, std::vector<float>(distances.begin(), distances.end())));
    }
    if (at == ids.size()) return true;
    if (difference_.empty())
        difference_ = fmt::format("query {}, rank {}: id {} at {} ({}); the scan in binary64 says id {} at {}", row, at,
                                  found[at], given[at], f64 ? "f64" : "f32", ids[at], distances[at]);
    return false;
}

std::int64_t ExactCheck::exact() const {
    return std::ranges::count(exact_, true);
}

}  // namespace kith::bench
