// Distance keys of candidates, whose rows are scattered among the points.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/metric/distance_keys.h"
#include "kith/types.h"

namespace kith::cpu {

// `points` and `distance_keys` must outlive it. Not for concurrent use.
class ScatteredKeys {
public:
    ScatteredKeys(const MatrixView& points, DistanceKeys& distance_keys)
        : points_(points),
          distance_keys_(distance_keys),
          at_once_(
              std::clamp(gathered_values / points.cols / 4 * 4, std::int64_t{4}, most_at_once)),
          gathered_(at_once_, points.cols) {}
    ScatteredKeys(const ScatteredKeys&) = delete;
    ScatteredKeys& operator=(const ScatteredKeys&) = delete;

    // Calls use(j, key) with the key of query row i and point id_of(j), for each j in [0, count).
    // Skips points with a NaN.
    template <class IdOf, class Use>
    void each(const RowBlock& queries, std::int64_t i, std::int64_t count, const IdOf& id_of,
              const Use& use) {
        double keys[most_at_once];
        for (std::int64_t j = 0; j < std::min(ahead, count); ++j) prefetch(id_of(j));
        for (std::int64_t first = 0; first < count; first += at_once_) {
            const std::int64_t here = std::min(at_once_, count - first);
            for (std::int64_t j = 0; j < here; ++j) {
                if (first + j + ahead < count) prefetch(id_of(first + j + ahead));
                distance_keys_.load(points_, id_of(first + j), 1, gathered_, j);
            }
            distance_keys_.compute(queries, i, gathered_, here, keys);
            for (std::int64_t j = 0; j < here; ++j)
                if (!gathered_.nan()[j]) use(first + j, keys[j]);
        }
    }

private:
    // Candidates per batch: most_at_once, or as many as have gathered_values coordinates, which fit
    // into the L1 cache. `ahead`: prefetch distance in rows.
    static constexpr std::int64_t most_at_once = 32, gathered_values = 4096, ahead = 6;

    // Inlined: gcc 12 drops calls of a function that only prefetches.
    __attribute__((always_inline)) void prefetch(std::int64_t id) const {
        if (points_.layout != Layout::row_major) return;
        const auto element = static_cast<std::int64_t>(size_of(points_.type));
        const char* const row =
            static_cast<const char*>(points_.data) + id * points_.stride * element;
        for (std::int64_t byte = 0; byte < points_.cols * element; byte += 64)
            __builtin_prefetch(row + byte);
    }

    const MatrixView& points_;
    DistanceKeys& distance_keys_;
    std::int64_t at_once_;
    RowBlock gathered_;
};

}  // namespace kith::cpu
