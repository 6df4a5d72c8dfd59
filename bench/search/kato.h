// `kith-bench search --table kato`: Table I of Kato and Hosino 2009, the graph of n points by their scheme on one core,
// one GPU and two.
#pragma once

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

inline constexpr const char* kato_table = "kato";

// True if all columns have the same bits. Throws kith::Error.
bool run_kato(const TableStudy& study, const Options& options);

}  // namespace kith::bench
