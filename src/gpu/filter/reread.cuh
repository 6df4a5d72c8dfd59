// What reading the rows of candidates has in common (reread.h).
#pragma once

#include "gpu/filter/bytes.h"
#include "gpu/filter/reread.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// A query's candidates are divided into shares of one size, all but the last, which is no less than
// `least_share`; of each share those that the stages leave come first.
inline constexpr int least_share = 32;
KITH_HD int size_of_share(int count, int shares) {
    const int size = (count + shares - 1) / shares;
    return size > least_share ? size : least_share;
}
// The threshold that a query's candidates passed, at least.
__device__ inline float passed_threshold(const RereadTask& task, std::int64_t query) {
    const float threshold = task.threshold[query];
    // What f32 does not hold was lowered to its largest number.
    if (!(task.sum_unit > 0))
        return threshold < largest_f32 ? threshold : __int_as_float(0x7f800000);
    const int of_sums = __float_as_int(threshold);
    return of_sums >= ByteLimits::everything ? __int_as_float(0x7f800000)
                                             : threshold_of_sum(of_sums, task.sum_unit);
}

// Appends a candidate whose a is by all coordinates to a query's list if that is within the
// threshold; returns whether it is.
__device__ __forceinline__ bool append_within(const CandidateLists& lists, std::int64_t query,
                                              const Candidate& candidate, float threshold) {
    if (!(candidate.a <= threshold)) return false;
    const int at = atomicAdd(&lists.counts[query], 1);
    if (at < lists.capacity) lists.candidates[query * lists.capacity + at] = candidate;
    return true;
}

// Both append those of the first task.left of each share whose values are within the lists'
// thresholds to the lists.
//
// Where task.order is not 0, those with the least bounds of as many as a block holds are read
// first: then the threshold becomes the order-th smallest upper value that the list has, and those
// beyond are not read, nor of what a query has besides.
void read_in_order(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);
// Part by part of the points (RereadTask::part), thresholds as they are.
void read_by_parts(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);

}  // namespace kith::gpu
