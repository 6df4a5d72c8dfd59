// `kith-bench search --table latency`: what one small call on a CPU takes, in microseconds.
#pragma once

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

// True if several queries have the neighbours of each alone. Throws kith::Error.
bool run_latency(const TableStudy& study, const Options& options);

}  // namespace kith::bench
