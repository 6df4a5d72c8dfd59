// `kith-bench search --table kato`: Table I of Kato and Hosino 2009, the graph of n points by their scheme on one core,
// one GPU and two.
#pragma once

#include <cstdint>
#include <string>

#include "kith/types.h"

namespace kith::bench {

struct KatoStudy {
    std::string table;            // "kato"
    std::int64_t cpu_points = 0;  // the most on one core of the CPU
    bool quick = false;           // the two smallest n
    int repeat = 7;
    std::string json;
};

// Whether all columns have the same bits. Throws kith::Error.
bool run(const KatoStudy& study, const Options& options);

}  // namespace kith::bench
