// BF-Matlab: brute_force.m in a process of octave-cli, where that is installed.
#pragma once

#include <cstdint>
#include <string>

#include "papers/clocks.h"

namespace kith::bench::papers {

// "", or why it cannot run.
std::string octave_missing();

// The k nearest of n x d points for q x d queries, row-major; `sort` is "insertion" or "sort" (brute_force.m). ids: q x
// k. Seconds as the script counts them. Throws kith::Error.
Clocks octave_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                     std::int64_t k, const std::string& sort, std::int64_t* ids);

}  // namespace kith::bench::papers
