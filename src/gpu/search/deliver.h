// The results of a search in the caller's memory.
#pragma once

#include "gpu/search/context.h"
#include "gpu/search/results.h"

namespace kith::gpu {

// The reported distances of keys, as f64 or f32. Enqueues.
void report_distances(const DeviceMetric& metric, const std::uint64_t* keys, bool f64, void* out,
                      std::int64_t count, cudaStream_t stream);

// Final lists of rows [first, first + count) to the caller's memory; ids that were made there stay.
// Enqueues.
void deliver(const SearchContext& context, Lists lists, std::int64_t first, std::int64_t count);

}  // namespace kith::gpu
