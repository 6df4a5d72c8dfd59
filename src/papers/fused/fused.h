// The contract of a fused kernel: the smallest f32 values of each query, which never lie in device
// memory.
//
// Values are those of a distance kernel (papers/distance/distance.h), in any order of summation, so
// that the direct filter's bound holds for every kernel. Entries are packed (key of the value,
// position); every point whose value is below the last of a full list is in it.
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "exact/direct_form.h"
#include "gpu/primitives/packed.cuh"
#include "gpu/runtime/device_memory.h"
#include "papers/fused/fused_kernels.h"

namespace kith::gpu {

struct FusedJob {
    exact::Step step = exact::Step::squares;  // or cityblock, chebyshev, cubes, fourths, powers
    float exponent = 0;                       // of powers
    // Words in panels (direct_place), whole ones on both sides.
    const float *queries = nullptr, *points = nullptr;
    const float* half_norm = nullptr;  // of each point, with room for whole tiles
    std::int64_t width = 0;            // words of a row
    std::int64_t q = 0, n = 0;
    std::int64_t capacity = 0, listed = 0;  // fused_capacity, fused_listed
    // A sorted list of `listed` entries for each query and part: list (query, part) begins at
    // (query * parts.count + part) * listed; packed_end where a part has fewer points.
    FusedParts parts = {};
    Packed* lists = nullptr;
    cudaStream_t stream = nullptr;
};

// By the kernel of that name: q sorted lists of `listed` entries. `job`: all but parts and lists.
// At most `most_lists` lists are in memory at a time, or one a query. Throws invalid_argument where
// there is no such kernel.
Buffer<Packed> fused_lists(std::string_view kernel, FusedJob job, std::int64_t most_lists);

#define KITH_FUSED(function, ...) void function(const FusedJob& job);
#include "papers/fused/fused_kernels.def"
#undef KITH_FUSED

}  // namespace kith::gpu
