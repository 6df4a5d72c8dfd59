// Rows of all coordinates of what the stages have left, in the order of its bounds.
#pragma once

#include "gpu/filter/bytes.h"
#include "gpu/filter/reread.h"

namespace kith::gpu {

// Fewer queries than these share the device by more slices of their candidates.
inline constexpr std::int64_t few_to_read = 64;

// A query's candidates are divided among so many shares, of at least so many; of each those that are left come first.
inline constexpr int most_shares = 64, least_share = 32;
KITH_HD int size_of_share(int count, int shares) {
    const int size = (count + shares - 1) / shares;
    return size > least_share ? size : least_share;
}
// The threshold that a query's candidates passed, at least.
__device__ inline float passed_threshold(const RereadTask& task, std::int64_t query) {
    const float threshold = task.threshold[query];
    if (!(task.sum_unit > 0)) return threshold;
    const int of_sums = __float_as_int(threshold);
    return of_sums >= ByteLimits::everything ? __int_as_float(0x7f800000) : threshold_of_sum(of_sums, task.sum_unit);
}
struct LeftOfShares {
    const std::int32_t* left = nullptr;  // q x shares; of a share that has no candidates it is not read
    int shares = 0;                      // at most most_shares
};

// Appends those whose values are within the lists' thresholds to the lists. Those with the least bounds are read first:
// then, where task.order is not 0, the threshold becomes the order-th smallest upper value that the list has, and those
// beyond are not read.
void read_in_order(const CandidateLists& lists, const RereadTask& task, const LeftOfShares& left, cudaStream_t stream);

}  // namespace kith::gpu
