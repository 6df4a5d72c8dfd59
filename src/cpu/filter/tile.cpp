// Which table of tiles serves an instruction set.
#include "cpu/filter/tile.h"

#include "cpu/simd/dispatch.h"
#include "machine/lasting.h"

namespace kith::cpu {

KITH_TABLES(const TileKernels&, tile_kernel_table)
#if defined(__x86_64__)
namespace avx512_bf16 {
const PairKernels& pair_kernel_table();
}
namespace avx512_vnni {
const ByteKernels& byte_kernel_table();
const ShortKernels& short_kernel_table();
ByteProduct byte_product_of_target();
}  // namespace avx512_vnni
namespace amx {
const ByteKernels& byte_kernel_table();
const Tiles& pair_tiles();
}  // namespace amx

namespace {
// Those of avx512_bf16 with the tiles of amx.
constinit machine::Lasting<const PairKernels> pairs_in_registers;
}  // namespace
#endif

const PairKernels* pair_kernels(Isa isa) {
#if defined(__x86_64__)
    if (!has_avx512(isa) || !supports_bf16()) return nullptr;
    const PairKernels& kernels = avx512_bf16::pair_kernel_table();
    if (isa != Isa::amx) return &kernels;
    return &pairs_in_registers.get([&] {
        return std::make_unique<PairKernels>(
            PairKernels{amx::pair_tiles(), kernels.round_row, kernels.product});
    });
#else
    static_cast<void>(isa);
    return nullptr;
#endif
}

const ByteKernels* byte_kernels(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::amx) return &amx::byte_kernel_table();
    if (isa == Isa::avx512 && supports_vnni()) return &avx512_vnni::byte_kernel_table();
#endif
    static_cast<void>(isa);
    return nullptr;
}

const ShortKernels* short_kernels(Isa isa) {
#if defined(__x86_64__)
    if (has_avx512(isa) && supports_vnni()) return &avx512_vnni::short_kernel_table();
#endif
    static_cast<void>(isa);
    return nullptr;
}

ByteProduct byte_product(Isa isa) {
#if defined(__x86_64__)
    if (has_avx512(isa) && supports_vnni()) return avx512_vnni::byte_product_of_target();
#endif
    return tile_kernels(isa).byte_product;
}

const TileKernels& tile_kernels(Isa isa) {
    return KITH_TABLE_OF(isa, tile_kernel_table);
}

}  // namespace kith::cpu
