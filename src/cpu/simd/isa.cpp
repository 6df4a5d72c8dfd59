// Instruction sets by name, and which of them this machine has.
#include "cpu/simd/isa.h"

#include "kith/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kith::cpu {

const char* name(Isa isa) {
    switch (isa) {
        case Isa::avx512:
            return "avx512";
        case Isa::avx2:
            return "avx2";
        default:
            return "baseline";
    }
}

#if defined(__x86_64__)
namespace {

// Not every compiler's __builtin_cpu_supports knows it.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

}  // namespace
#endif

bool supported(Isa isa) {
#if defined(__x86_64__)
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c();
    if (isa == Isa::avx2) return has_avx2;
    if (isa == Isa::avx512) {
        return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    }
    return true;
#else
    return isa == Isa::baseline;
#endif
}

bool supports_bf16() {
#if defined(__x86_64__)
    // Asked once: on a virtual machine the instruction takes microseconds.
    static const bool yes = supported(Isa::avx512) && __builtin_cpu_supports("avx512bf16");
    return yes;
#else
    return false;
#endif
}

Isa best_isa() {
    static const Isa best = supported(Isa::avx512) ? Isa::avx512 : supported(Isa::avx2) ? Isa::avx2 : Isa::baseline;
    return best;
}

Isa isa_named(const std::string& text) {
    if (text.empty()) return best_isa();
    std::string known;
    for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::baseline}) {
        if (!supported(isa)) continue;
        if (text == name(isa)) return isa;
        known += known.empty() ? name(isa) : std::string(", ") + name(isa);
    }
    throw Error(ErrorCode::invalid_argument, "isa is '" + text + "'; this machine has " + known);
}

}  // namespace kith::cpu
