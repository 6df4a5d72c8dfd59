// Selects the table of formula operations for an instruction set.
#include "cpu/metric/formula_kernels.h"

#include "cpu/simd/dispatch.h"

namespace kith::cpu {

KITH_TABLES(const FormulaKernels&, formula_kernel_table)

const FormulaKernels& formula_kernels(Isa isa) {
    return KITH_TABLE_OF(isa, formula_kernel_table);
}

}  // namespace kith::cpu
