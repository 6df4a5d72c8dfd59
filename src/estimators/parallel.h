// Passes over the rows of samples on several threads, and sorting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/parallel.h"

namespace kith::estimators {

inline constexpr std::int64_t rows_per_range = 1 << 13;

// How many ranges for_ranges() makes of n rows.
inline std::int64_t ranges(std::int64_t n) {
    return (n + rows_per_range - 1) / rows_per_range;
}

// work(first, last) of ranges that make up [0, n); each begins at a multiple of rows_per_range.
template <class F>
void for_ranges(int threads, std::int64_t n, const F& work) {
    machine::parallel_tasks(threads, ranges(n), [&](std::int64_t range) {
        work(range * rows_per_range, std::min(n, (range + 1) * rows_per_range));
    });
}

// std::sort, of runs on threads of their own that are then merged in pairs.
template <class T, class Less = std::less<T>>
void sort_parallel(int threads, std::vector<T>& values, const Less& less = {}) {
    constexpr std::int64_t shortest_run = 1 << 14;
    const auto n = static_cast<std::int64_t>(values.size());
    std::int64_t runs = 1;
    while (2 * runs <= threads && n / (2 * runs) >= shortest_run) runs *= 2;
    const auto at = [&](std::vector<T>& of, std::int64_t run) {
        return of.begin() + n * run / runs;
    };
    machine::parallel_tasks(threads, runs, [&](std::int64_t run) {
        std::sort(at(values, run), at(values, run + 1), less);
    });
    if (runs == 1) return;
    std::vector<T> merged(values.size());
    for (std::int64_t width = 1; width < runs; width *= 2) {
        machine::parallel_tasks(threads, runs / (2 * width), [&](std::int64_t pair) {
            const std::int64_t first = 2 * width * pair, second = first + width;
            std::merge(at(values, first), at(values, second), at(values, second),
                       at(values, second + width), at(merged, first), less);
        });
        values.swap(merged);
    }
}

}  // namespace kith::estimators
