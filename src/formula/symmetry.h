// Proves that a formula is bit-identical with query and point exchanged.
#pragma once

#include "formula/tree.h"

namespace kith::formula {

// True if the tree proves it: swapped operands of sums and products, differences under an absolute
// value or squared. False proves nothing.
bool symmetric(const Tree& tree);

}  // namespace kith::formula
