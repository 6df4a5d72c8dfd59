// `kith-bench search --table hanak-kernels`: Figs. 5.8, 5.9 and 5.12 of Hanak 2023 as the thesis times them. That is
// the sum of a distance kernel and a selector, and the fused kernel alone, at the k of the figure exactly, without
// bounds, refinement and retries.
#pragma once

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

inline constexpr const char* alone_table = "hanak-kernels";

// Prints, and writes the JSON. Throws kith::Error; device where there is no GPU.
bool run_kernels_alone(const TableStudy& study, const Options& options);

}  // namespace kith::bench
