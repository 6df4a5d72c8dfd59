// Whether a formula gives the same bits when query and point change places.
#pragma once

#include "formula/tree.h"

namespace kith::formula {

// True where that is proven from the tree: swapped operands of sums and products, differences under
// an absolute value or squared. False says nothing.
bool symmetric(const Tree& tree);

}  // namespace kith::formula
