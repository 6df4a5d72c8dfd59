// Which table of operations serves an instruction set.
#include "cpu/formula_kernels.h"

namespace kith::cpu {

namespace baseline {
const FormulaKernels& formula_kernel_table();
}
#if defined(__x86_64__)
namespace avx2 {
const FormulaKernels& formula_kernel_table();
}
namespace avx512 {
const FormulaKernels& formula_kernel_table();
}
#endif

const FormulaKernels& formula_kernels(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::formula_kernel_table();
    if (isa == Isa::avx2) return avx2::formula_kernel_table();
#endif
    (void)isa;
    return baseline::formula_kernel_table();
}

}  // namespace kith::cpu
