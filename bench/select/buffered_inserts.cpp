// The formulas, and the model: a heap for the k smallest, a vector for the buffer.
#include "select/buffered_inserts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <queue>
#include <vector>

#include "select/values.h"

namespace kith::bench {

namespace {

// H(n) - H(m), m <= n.
double harmonics_between(std::int64_t m, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = n; i > m; --i) sum += 1 / static_cast<double>(i);
    return sum;
}

BufferedCounts run(const BufferedSelection& s, std::int64_t row, std::int64_t n) {
    BufferedCounts counts;
    std::priority_queue<float> kept;
    std::vector<float> buffer;
    const auto passes = [&](float v) { return static_cast<std::int64_t>(kept.size()) < s.k || v < kept.top(); };
    const auto merge = [&] {
        for (const float v : buffer) {
            kept.push(v);
            if (static_cast<std::int64_t>(kept.size()) > s.k) kept.pop();
        }
        counts.added += static_cast<double>(buffer.size());
        ++counts.merges;
        buffer.clear();
    };
    for (std::int64_t first = 0; first < n; first += s.chunk) {
        std::vector<float> passed;
        for (std::int64_t i = first; i < std::min(n, first + s.chunk); ++i) {
            const float v = value_at(Order::uniform, row, i, n);
            if (passes(v)) passed.push_back(v);
        }
        while (!passed.empty()) {
            const std::size_t taken = std::min(passed.size(), static_cast<std::size_t>(s.buffer) - buffer.size());
            buffer.insert(buffer.end(), passed.begin(), passed.begin() + static_cast<std::ptrdiff_t>(taken));
            passed.erase(passed.begin(), passed.begin() + static_cast<std::ptrdiff_t>(taken));
            if (passed.empty()) break;
            merge();
            std::erase_if(passed, [&](float v) { return !passes(v); });
        }
    }
    if (!buffer.empty()) merge();
    return counts;
}

}  // namespace

BufferedSelection bits_selection(std::int64_t k) {
    const auto capacity = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(k)));
    return {k, std::max<std::int64_t>(512, capacity), 256 * (k <= 1024 ? 16 : 8)};
}

BufferedCounts expected_of(const BufferedSelection& s, std::int64_t n) {
    const std::int64_t among = std::min(n, s.k + s.buffer);
    const double added = static_cast<double>(among) * (1 + harmonics_between(among, n));
    return {added, 1 + added / static_cast<double>(s.buffer)};
}

BufferedCounts simulated(const BufferedSelection& s, std::int64_t n) {
    constexpr int rows = 8;
    BufferedCounts mean;
    for (int row = 0; row < rows; ++row) {
        const BufferedCounts counts = run(s, row, n);
        mean.added += counts.added / rows;
        mean.merges += counts.merges / rows;
    }
    return mean;
}

}  // namespace kith::bench
