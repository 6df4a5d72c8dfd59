// Which table of tiles serves an instruction set.
#include "cpu/tile.h"

namespace kith::cpu {

namespace baseline {
const TileKernels& tile_kernel_table();
}
#if defined(__x86_64__)
namespace avx2 {
const TileKernels& tile_kernel_table();
}
namespace avx512 {
const TileKernels& tile_kernel_table();
}
namespace avx512_bf16 {
const PairKernels& pair_kernel_table();
}
#endif

const PairKernels* pair_kernels() {
#if defined(__x86_64__)
    if (supports_bf16()) return &avx512_bf16::pair_kernel_table();
#endif
    return nullptr;
}

const TileKernels& tile_kernels(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::tile_kernel_table();
    if (isa == Isa::avx2) return avx2::tile_kernel_table();
#endif
    (void)isa;
    return baseline::tile_kernel_table();
}

}  // namespace kith::cpu
