// The instruction sets that the CPU kernels are compiled for, chosen at run time.
#pragma once

#include <string>

namespace kith::cpu {

// `amx`: avx512, with products of bf16 and int8 in matrix registers.
enum class Isa { baseline, avx2, avx512, amx };
inline constexpr int isa_count = 4;
inline bool has_avx512(Isa isa) {
    return isa >= Isa::avx512;
}

const char* name(Isa isa);
bool supported(Isa isa);
// Products of bf16 (AVX512_BF16), in addition to Isa::avx512 and Isa::amx.
bool supports_bf16();
// Products of int8 (AVX512_VNNI), in addition to Isa::avx512.
bool supports_vnni();
// The best instruction set of this machine.
Isa best_isa();
// The instruction set with this name; "" is the best. Throws invalid_argument for an unknown or
// unsupported one.
Isa isa_named(const std::string& name);

}  // namespace kith::cpu
