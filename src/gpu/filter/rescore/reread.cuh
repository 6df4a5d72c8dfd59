// Common parts of the kernels that rescore candidates (`reread.h`).
#pragma once

#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/rescore/reread.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// A query's candidates are divided into shares of equal size, at least `least_share`, except for
// the last. The candidates that the stages leave come first in each share.
inline constexpr int least_share = 32;
KITH_HD int size_of_share(int count, int shares) {
    const int size = (count + shares - 1) / shares;
    return size > least_share ? size : least_share;
}
// An upper bound of the threshold that a query's candidates passed.
__device__ inline float passed_threshold(const RereadTask& task, std::int64_t query) {
    const float threshold = task.threshold[query];
    // A threshold that f32 cannot hold was lowered to the largest number.
    if (!(task.sum_unit > 0))
        return threshold < largest_f32 ? threshold : __int_as_float(0x7f800000);
    const int of_sums = __float_as_int(threshold);
    return of_sums >= ByteLimits::everything ? __int_as_float(0x7f800000)
                                             : threshold_of_sum(of_sums, task.sum_unit);
}

// Appends a candidate with a full-dimensional a to a query's list if a is within the threshold.
// Returns true if it is.
__device__ __forceinline__ bool append_within(const CandidateLists& lists, std::int64_t query,
                                              const Candidate& candidate, float threshold) {
    if (!(candidate.a <= threshold)) return false;
    const int at = atomicAdd(&lists.counts[query], 1);
    if (at < lists.capacity) lists.candidates[query * lists.capacity + at] = candidate;
    return true;
}

// Both rescore the first task.left candidates of each share, and append those within the lists'
// thresholds to the lists.
//
// This one reads rows best first. If task.order is not 0, a block first rescores the least bounds
// of the candidates that it holds. The threshold then becomes the order-th smallest upper value of
// the list. Candidates with bounds beyond it are not read, including those that the block does not
// hold yet.
void read_in_order(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);
// Block by block of the points (RereadTask::part), with unchanged thresholds.
void read_by_parts(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);

}  // namespace kith::gpu
