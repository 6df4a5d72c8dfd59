// "sampled-buckets": how rows are cut into buckets, and what its kernels share.
#pragma once

#include "gpu/select/sampled/sampled.h"

namespace kith::gpu::sampling {

// Shared memory that a block of the last step may take, its own static part included.
inline constexpr std::int64_t buckets_shared_bytes = 160 * 1024;
// Rows that it serves: of shorter ones a sample is no small part, of longer ones it is too small.
inline constexpr std::int64_t buckets_least_n = 1 << 14, buckets_most_n = 1 << 22;
// Entries that a bucket is meant to hold, and that one may hold: what a block sorts in shared
// memory.
inline constexpr std::int64_t bucket_goal = 1536, bucket_most = 14336;
// Sample entries in a bucket, at least: fewer, and its size is anybody's guess. A multiple of
// sample_group, so that in a row with order, where a group's values are adjacent, bounds lie
// between groups.
inline constexpr std::int64_t bucket_least_sample = 16;

struct BucketPlan {
    std::int64_t sample;   // values in a row's sample
    std::int64_t each;     // of them in a bucket: the mean size is each * n / sample
    std::int64_t buckets;  // of a row
    std::int64_t capacity;
    std::int64_t slice;  // columns that a block distributes
    bool everything;  // the last bucket ends with the row's largest entry, else with sample entry
                      // each * buckets
};

// A bucket between sample entries holds a sum of `each` gaps: its size exceeds c times the mean
// with a probability of exp(-each (c - 1 - ln c)) at most. Capacities make that 1e-10 (2e-9 in the
// longest rows). The last bucket's end has k entries up to it unless the sample is 6.5 standard
// deviations off, or, in a sorted row, always (sample_rank).
inline BucketPlan plan_buckets(std::int64_t rows, std::int64_t n, std::int64_t k,
                               int multiprocessors) {
    constexpr double log_risk = 23;
    constexpr Margin margin{.deviations = 6.5, .extra = 8};
    BucketPlan c{};
    c.sample = n <= 1 << 17 ? 4096 : n <= 1 << 18 ? 8192 : 16384;
    const double density = static_cast<double>(n) / static_cast<double>(c.sample);
    c.each = std::max(static_cast<std::int64_t>(static_cast<double>(bucket_goal) / density) /
                          sample_group * sample_group,
                      bucket_least_sample);
    const auto each = static_cast<double>(c.each);
    double factor = 1.25;
    while (each * (factor - 1 - std::log(factor)) < log_risk) factor += 0.0625;
    c.capacity =
        std::min(static_cast<std::int64_t>(factor * each * density) / 64 * 64 + 64, bucket_most);
    const std::int64_t rank = sample_rank(k, n, c.sample, margin);
    c.buckets = (rank + c.each - 1) / c.each;
    c.everything = c.buckets * c.each > c.sample - c.each;
    if (c.everything) c.buckets = (c.sample + c.each - 1) / c.each;
    // Four waves of four blocks on each multiprocessor.
    constexpr std::int64_t step = 4096;
    const std::int64_t blocks = std::int64_t{4} * 4 * multiprocessors;
    c.slice =
        std::clamp<std::int64_t>((rows * n / blocks + step - 1) / step * step, 2 * step, 16 * step);
    return c;
}

// Bucket b of row r is number r * per_row + b.
struct Buckets {
    int per_row, capacity;
    Packed* last;      // the largest entry that belongs to a bucket
    Packed* entries;   // capacity per bucket
    unsigned* counts;  // entries of a bucket, perhaps more than fit
    unsigned* places;  // entries in the row's buckets before it
    // Of the job: the largest count of a bucket that the result needs, ~0 where a row lacks
    // entries; and a list of buckets with many entries that are all but equal.
    unsigned *most, *crowded, *crowded_count;
};

// Buckets with up to `most` entries into the result.
void sort_buckets(const SelectJob& job, const SelectOut& out, const Buckets& buckets,
                  unsigned most);

}  // namespace kith::gpu::sampling
