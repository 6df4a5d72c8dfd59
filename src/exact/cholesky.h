// Cholesky factorisation in binary64.
#pragma once

#include <cstdint>
#include <vector>

namespace kith::exact {

// The lower Cholesky factor of the d x d matrix `a`, in place of its lower triangle (the upper one is neither read nor
// written); false when a is not positive definite. Where it succeeds, |L L' - a| <= gamma_(d+1) |L| |L'| element by
// element, underflow aside.
bool cholesky(std::vector<double>& a, std::int64_t d, int threads);

}  // namespace kith::exact
