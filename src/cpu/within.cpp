// Which table of comparisons serves an instruction set.
#include "cpu/within.h"

namespace kith::cpu {

namespace baseline {
const WithinKernels& within_kernel_table();
}
#if defined(__x86_64__)
namespace avx2 {
const WithinKernels& within_kernel_table();
}
namespace avx512 {
const WithinKernels& within_kernel_table();
}
#endif

const WithinKernels& within_kernels(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::within_kernel_table();
    if (isa == Isa::avx2) return avx2::within_kernel_table();
#endif
    (void)isa;
    return baseline::within_kernel_table();
}

}  // namespace kith::cpu
