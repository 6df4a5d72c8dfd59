// Selects the k-th smallest kernel for an instruction set.
#include "cpu/primitives/kth.h"

#include "cpu/simd/dispatch.h"

namespace kith::cpu {

KITH_TABLES(KthSmallest, kth_kernel)

KthSmallest kth_smallest(Isa isa) {
    return KITH_TABLE_OF(isa, kth_kernel);
}

}  // namespace kith::cpu
