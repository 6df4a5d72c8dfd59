// The instruction sets that the CPU kernels are compiled for, chosen at run time.
#pragma once

#include <string>

namespace kith::cpu {

enum class Isa { baseline, avx2, avx512 };
inline constexpr int isa_count = 3;

const char* name(Isa isa);
bool supported(Isa isa);
// Products of bf16 (AVX512_BF16), beside Isa::avx512.
bool supports_bf16();
// The best one that this machine has.
Isa best_isa();
// The one of that name; "" is the best. Throws invalid_argument for an unknown or unsupported one.
Isa isa_named(const std::string& name);

}  // namespace kith::cpu
