// Arrays that a thread holds in registers.
#pragma once

namespace kith::gpu {

// x[i] for an i known only at run time: direct indexing would move the array to local memory.
template <int size, class T>
__device__ __forceinline__ T entry_at(const T (&x)[size], int i) {
    T found = x[0];
#pragma unroll
    for (int j = 1; j < size; ++j)
        if (j == i) found = x[j];
    return found;
}

}  // namespace kith::gpu
