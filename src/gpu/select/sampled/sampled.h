// "sampled" in its two forms: a block per row, or rows cut into slices.
#pragma once

#include <algorithm>
#include <cmath>

#include "gpu/primitives/sample.h"
#include "gpu/select/result.cuh"

namespace kith::gpu::sampling {

// ---- a block per row
inline constexpr std::int64_t short_most_n = 1 << 20, short_most_k = 2048;
// Rows that are long must also fill whole waves of eight blocks per multiprocessor.
inline bool is_short(std::int64_t rows, std::int64_t n, std::int64_t k, int multiprocessors) {
    if (k > short_most_k || n > short_most_n) return false;
    if (n <= 32768) return true;
    const std::int64_t slots = std::int64_t{8} * multiprocessors;
    const std::int64_t waves = (rows + slots - 1) / slots;
    return rows >= 8 * slots || (rows >= slots - 64 && 10 * rows >= 9 * waves * slots);
}
void select_short(const SelectJob& job, const SelectOut& out);

// ---- a block per slice of a row
inline constexpr std::int64_t long_most_k = 10752;
// Values that a block samples.
inline constexpr std::int64_t sample_part = 8192;
// Sample entries that a row's parts pick between them.
inline constexpr std::int64_t most_picked = 4096;
// Entries of a row's list: a power of two. The block that sorts it in place, of up to 1,024
// threads, needs room for two entries a thread and takes at most 16.
inline constexpr std::int64_t least_list = 2048, most_list = 16384;

// How long rows are cut: columns of a slice, entries of a row's list, blocks that sample a row, and
// the rank of the limit in the sample.
struct SlicePlan {
    std::int64_t slice, list, parts, rank;
};

inline SlicePlan plan_slices(std::int64_t rows, std::int64_t n, std::int64_t k,
                             int multiprocessors) {
    // Four waves of four blocks on each multiprocessor, of slices not too short and not too long.
    constexpr std::int64_t step = 4096;
    const std::int64_t blocks = std::int64_t{4} * 4 * multiprocessors;
    SlicePlan c{};
    c.slice =
        std::clamp<std::int64_t>((rows * n / blocks + step - 1) / step * step, 2 * step, 16 * step);
    c.parts = 1;
    if (n <= most_list) {  // rank 0: everything passes
        for (c.list = least_list; c.list < n; c.list *= 2) {
        }
        return c;
    }
    const auto most_parts = std::clamp<std::int64_t>(8192 / rows, 1, 256);
    for (std::int64_t parts = 1; parts <= most_parts && parts * sample_part <= n; parts *= 2) {
        const std::int64_t sample = parts * sample_part;
        const std::int64_t rank = sample_rank(k, n, sample),
                           highest = rank + sample_slack(static_cast<int>(rank));
        if (parts > 1 && parts * highest > most_picked) break;
        const double survivors =
            static_cast<double>(highest) * static_cast<double>(n) / static_cast<double>(sample);
        const double likely = survivors * (1 + 5 / std::sqrt(static_cast<double>(rank)));
        c.parts = parts;
        c.rank = rank;
        for (c.list = least_list; c.list < most_list && static_cast<double>(c.list) < likely;
             c.list *= 2) {
        }
        // A larger sample makes a shorter list; it is worth its time while the list is long against
        // k.
        if (static_cast<double>(c.list) >= likely && c.list <= std::max<std::int64_t>(8192, 4 * k))
            break;
    }
    return c;
}

void select_long(const SelectJob& job, const SelectOut& out);

}  // namespace kith::gpu::sampling
