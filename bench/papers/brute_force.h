/* BF-C of Garcia et al. 2008: exact neighbours by plain loops on one core, as a C programmer writes them first. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum BruteForceSort { KITH_BENCH_INSERTION_SORT, KITH_BENCH_COMB_SORT };

/* Seconds of processor time of the two steps. */
struct BruteForceSteps {
    double distance, sort;
};

/* The k nearest of n points (n x d, row-major) for each of q queries (q x d), squared Euclidean in f32: all distances
 * of a query, then their sort. ids: q x k, the nearest first. 1 <= k <= n. Returns 0, or -1 where there is no memory.
 */
int brute_force(const float* points, int64_t n, const float* queries, int64_t q, int64_t d, int64_t k,
                enum BruteForceSort sort, int64_t* ids, struct BruteForceSteps* steps);

#ifdef __cplusplus
}
#endif
