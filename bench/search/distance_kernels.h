// `kith-bench search --table distance-kernels` and `--table hanak-fig5.1`: the kernels that make the matrix of
// distances, next to each other.
#pragma once

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

inline constexpr const char* kernels_table = "distance-kernels";  // n 131,072, q 1,024, d from 16 to 256
inline constexpr const char* throughput_table = "hanak-fig5.1";   // n q d the same for all q and d

// Prints, and writes the JSON. For the metric of the options: sqeuclidean (euclidean), cityblock or chebyshev. Throws
// kith::Error; device where there is no GPU.
bool run_kernels(const TableStudy& study, const Options& options);

}  // namespace kith::bench
