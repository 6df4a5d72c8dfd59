// The contract of a selector. Input: one job, rows of values on the device. Output: the k smallest
// of each row.
//
// A family of selectors is one file with one function, void function(const SelectJob&, int
// variant), and a line per variant in selectors.def. It launches on job.stream, allocates through
// Buffer within the bytes that its line states, and checks every launch. It may rely on the job: k
// is within its range, the layout is the one of its line.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string_view>

#include "gpu/select/selectors.h"
#include "kith/types.h"

namespace kith::gpu {

class WaitedLaunch;

struct SelectJob {
    const void* values = nullptr;  // of a type that the selector's line names
    ElementType type = ElementType::f32;
    std::int64_t rows = 0, n = 0, k = 0;  // 1 <= k <= n < 2^32 - 1
    std::int64_t stride = 0;  // elements; by_row: from row to row, by_column: from column to column
    bool largest = false;
    bool sorted = true;  // false: any order within a row
    // Per row, on the device, or null: only the first lengths[row] of the n values exist (clamped
    // to 0..n); the rest of a row's result is missing. For selectors with `lengths` in their line
    // only.
    const std::int64_t* lengths = nullptr;
    // The result on the device, rows x k, dense.
    std::int64_t* ids = nullptr;
    void* out = nullptr;  // values in `type`; may be null
    // operation_slots counters; null except in instrumented builds.
    unsigned long long* counts = nullptr;
    cudaStream_t stream = nullptr;
    // If not null, the caller waits for the job at once: a selector of one launch may make it
    // through this.
    WaitedLaunch* waited = nullptr;

    const float* f32() const { return static_cast<const float*>(values); }
};

struct Rows;
// Runs the job by the selector of this name, on f32 values in device memory, in any layout; all
// other fields of `job` are set. Throws invalid_argument if there is no such selector.
void run_selector(std::string_view name, const Rows& values, SelectJob job);

using SelectFunction = void (*)(const SelectJob& job, int variant);
#define KITH_SELECTOR(function, ...) void function(const SelectJob& job, int variant);
#define KITH_PAPERS_SELECTOR KITH_SELECTOR
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
#undef KITH_PAPERS_SELECTOR

}  // namespace kith::gpu
