// `kith-bench search --table radius`: all points within a radius, counted and listed, next to the k nearest of the same
// shape.
#pragma once

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

// True if counts, lists and the k nearest agree. Throws kith::Error.
bool run_radius(const TableStudy& study, const Options& options);

}  // namespace kith::bench
