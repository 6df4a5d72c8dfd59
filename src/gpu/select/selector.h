// The contract of a selector: one job, rows of values on the device in, the k smallest of each row
// out.
//
// A family of selectors is one file with one function void function(const SelectJob&, int variant)
// and a line per variant in selectors.def. It launches on job.stream, allocates through Buffer
// within the bytes that its line states, and checks every launch. It may trust the job: k is within
// its range, the layout is the one its line asks for.
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
    // Per row, on the device, or null: the first so many of the n values (within 0..n) are there;
    // the rest of a row's result is missing. For selectors whose line says so.
    const std::int64_t* lengths = nullptr;
    // The result on the device, rows x k, dense.
    std::int64_t* ids = nullptr;
    void* out = nullptr;  // values in `type`; may be null
    unsigned long long* counts =
        nullptr;  // operation_slots of them; instrumented builds only, else null
    cudaStream_t stream = nullptr;
    // Not null: the caller waits for the job at once, so that a selector of one launch may make it
    // through this.
    WaitedLaunch* waited = nullptr;

    const float* f32() const { return static_cast<const float*>(values); }
};

struct Rows;
// The job by the selector of that name, from f32 values in device memory, in any layout: all else
// of `job` is set. Throws invalid_argument where there is none.
void run_selector(std::string_view name, const Rows& values, SelectJob job);

using SelectFunction = void (*)(const SelectJob& job, int variant);
#define KITH_SELECTOR(function, ...) void function(const SelectJob& job, int variant);
#define KITH_PAPERS_SELECTOR KITH_SELECTOR
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
#undef KITH_PAPERS_SELECTOR

}  // namespace kith::gpu
