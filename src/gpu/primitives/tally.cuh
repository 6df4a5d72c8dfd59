// What a thread counts of its own operations, for the measured form of Sismanis 2012, Table 1.
#pragma once

#include <cuda_runtime.h>

// Counts `amount` in slot `slot` of `counts` in builds with KITH_COUNT_OPERATIONS; nothing
// elsewhere.
#ifdef KITH_COUNT_OPERATIONS
#define KITH_COUNT(counts, slot, amount) \
    atomicAdd(&(counts)[slot], static_cast<unsigned long long>(amount))
#else
#define KITH_COUNT(counts, slot, amount) static_cast<void>(0)
#endif

namespace kith::gpu {

// Slot 0 of SelectJob::counts: comparisons of two entries (radix sort: digits taken). Slot 1:
// entries written. Slot 2: comparisons of radix sort's local sorts. Empty in builds without
// KITH_COUNT_OPERATIONS.
struct Tally {
#ifdef KITH_COUNT_OPERATIONS
    unsigned long long amounts[3] = {};

    __device__ void compared(unsigned n = 1) {
        amounts[0] += n;
    }
    __device__ void took_digits(unsigned n = 1) {
        amounts[0] += n;
    }
    __device__ void moved(unsigned n = 1) {
        amounts[1] += n;
    }
    __device__ void compared_locally(unsigned n = 1) {
        amounts[2] += n;
    }
    // Once per thread, at its end.
    __device__ void add_to(unsigned long long* counts) const {
        for (int slot = 0; slot < 3; ++slot)
            if (amounts[slot]) KITH_COUNT(counts, slot, amounts[slot]);
    }
#else
    __device__ void compared(unsigned = 1) {}
    __device__ void took_digits(unsigned = 1) {}
    __device__ void moved(unsigned = 1) {}
    __device__ void compared_locally(unsigned = 1) {}
    __device__ void add_to(unsigned long long*) const {}
#endif
};

}  // namespace kith::gpu
