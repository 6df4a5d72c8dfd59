/* BF-C: for each query all distances, then a sort of them (Garcia et al. 2008, sections 2.1 and 2.2). */
#include "papers/brute_force.h"

#include <stdlib.h>
#include <time.h>

enum { queries_at_a_time = 8 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void distances_of(const float* query, const float* points, int64_t n, int64_t d, float* distances) {
    for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t i = 0; i < d; ++i) {
            const float difference = query[i] - points[j * d + i];
            sum += difference * difference;
        }
        distances[j] = sum;
    }
}

/* The insertion sort that keeps the k smallest: a value that is not below the k-th costs one comparison. */
static void insertion_sort(const float* distances, int64_t n, int64_t k, float* kept, int64_t* ids) {
    int64_t count = 0;
    for (int64_t j = 0; j < n; ++j) {
        const float value = distances[j];
        if (count == k && !(value < kept[k - 1])) continue;
        int64_t at = count < k ? count++ : k - 1;
        while (at > 0 && kept[at - 1] > value) {
            kept[at] = kept[at - 1];
            ids[at] = ids[at - 1];
            --at;
        }
        kept[at] = value;
        ids[at] = j;
    }
}

/* Sorts all of the distances, and their indices with them. */
static void comb_sort(float* distances, int64_t* order, int64_t n) {
    for (int64_t j = 0; j < n; ++j) order[j] = j;
    int64_t gap = n;
    int swapped = 1;
    while (gap > 1 || swapped) {
        gap = gap * 10 / 13;
        if (gap < 1) gap = 1;
        swapped = 0;
        for (int64_t j = 0; j + gap < n; ++j) {
            if (!(distances[j] > distances[j + gap])) continue;
            const float value = distances[j];
            const int64_t id = order[j];
            distances[j] = distances[j + gap];
            order[j] = order[j + gap];
            distances[j + gap] = value;
            order[j + gap] = id;
            swapped = 1;
        }
    }
}

int brute_force(const float* points, int64_t n, const float* queries, int64_t q, int64_t d, int64_t k,
                enum BruteForceSort sort, int64_t* ids, struct BruteForceSteps* steps) {
    float* const distances = malloc((size_t)(queries_at_a_time * n) * sizeof(float));
    float* const kept = malloc((size_t)k * sizeof(float));
    int64_t* const order = malloc((size_t)n * sizeof(int64_t));
    const int status = distances && kept && order ? 0 : -1;
    steps->distance = steps->sort = 0;
    for (int64_t first = 0; status == 0 && first < q; first += queries_at_a_time) {
        const int64_t count = q - first < queries_at_a_time ? q - first : queries_at_a_time;
        const double start = now();
        for (int64_t i = 0; i < count; ++i) distances_of(queries + (first + i) * d, points, n, d, distances + i * n);
        const double between = now();
        for (int64_t i = 0; i < count; ++i) {
            int64_t* const near = ids + (first + i) * k;
            if (sort == KITH_BENCH_INSERTION_SORT) {
                insertion_sort(distances + i * n, n, k, kept, near);
            } else {
                comb_sort(distances + i * n, order, n);
                for (int64_t j = 0; j < k; ++j) near[j] = order[j];
            }
        }
        steps->distance += between - start;
        steps->sort += now() - between;
    }
    free(distances);
    free(kept);
    free(order);
    return status;
}
