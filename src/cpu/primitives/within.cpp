// Selects the table of comparisons for an instruction set.
#include "cpu/primitives/within.h"

#include "cpu/simd/dispatch.h"

namespace kith::cpu {

KITH_TABLES(const WithinKernels&, within_kernel_table)

const WithinKernels& within_kernels(Isa isa) {
    return KITH_TABLE_OF(isa, within_kernel_table);
}

}  // namespace kith::cpu
