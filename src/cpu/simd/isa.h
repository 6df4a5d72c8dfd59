// The instruction sets that the CPU kernels are compiled for, chosen at run time.
#pragma once

#include <string>

namespace kith::cpu {

// `amx`: avx512, but for products of bf16 and of bytes, which are made in matrix registers.
enum class Isa { baseline, avx2, avx512, amx };
inline constexpr int isa_count = 4;
inline bool has_avx512(Isa isa) {
    return isa >= Isa::avx512;
}

const char* name(Isa isa);
bool supported(Isa isa);
// Products of bf16 (AVX512_BF16), beside Isa::avx512 and Isa::amx.
bool supports_bf16();
// Products of whole numbers of 8 bits (AVX512_VNNI), beside Isa::avx512.
bool supports_vnni();
// The best one that this machine has.
Isa best_isa();
// The one of that name; "" is the best. Throws invalid_argument for an unknown or unsupported one.
Isa isa_named(const std::string& name);

}  // namespace kith::cpu
