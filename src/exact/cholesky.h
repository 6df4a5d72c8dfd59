// Cholesky factorisation in binary64, and the inverse from it.
#pragma once

#include <cstdint>
#include <vector>

#include "exact/progress.h"

namespace kith::exact {

// Both poll `progress` as stage "prepare" and throw where it is cancelled. Their bits do not depend
// on `threads`: each element is one sum in order of k.

// The lower Cholesky factor of the d x d matrix `a`, in place of its lower triangle (the upper one
// is neither read nor written); false when a is not positive definite. Where it succeeds, |L L' -
// a| <= gamma_(d+1) |L| |L'| element by element, underflow aside.
bool cholesky(std::vector<double>& a, std::int64_t d, int threads, ProgressMeter& progress);

// The inverse of L L' from its factor. Exactly symmetric: the upper half mirrors the lower.
std::vector<double> inverse_from_cholesky(const std::vector<double>& l, std::int64_t d, int threads,
                                          ProgressMeter& progress);

}  // namespace kith::exact
