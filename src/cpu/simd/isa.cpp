// Instruction sets by name, and which of them this machine has.
#include "cpu/simd/isa.h"

#include "kith/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace kith::cpu {

const char* name(Isa isa) {
    switch (isa) {
        case Isa::amx:
            return "amx";
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

// Products of bf16 and of 8-bit numbers in matrix registers, which the system has to save and to permit: for this
// process, once.
bool has_amx() {
#if defined(__linux__)
    constexpr unsigned products = 1u << 22 | 1u << 24 | 1u << 25, saved = 3u << 17;  // bf16, registers, bytes
    constexpr long ask_permission = 0x1023, tile_data = 18;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & products) != products) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & saved) == saved && syscall(SYS_arch_prctl, ask_permission, tile_data) == 0;
#else
    return false;
#endif
}

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
    if (isa == Isa::amx) {
        static const bool yes = supported(Isa::avx512) && has_amx();
        return yes;
    }
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

bool supports_vnni() {
#if defined(__x86_64__)
    static const bool yes = supported(Isa::avx512) && __builtin_cpu_supports("avx512vnni");
    return yes;
#else
    return false;
#endif
}

Isa best_isa() {
    static const Isa best = supported(Isa::amx)      ? Isa::amx
                            : supported(Isa::avx512) ? Isa::avx512
                            : supported(Isa::avx2)   ? Isa::avx2
                                                     : Isa::baseline;
    return best;
}

Isa isa_named(const std::string& text) {
    if (text.empty()) return best_isa();
    std::string known;
    for (const Isa isa : {Isa::amx, Isa::avx512, Isa::avx2, Isa::baseline}) {
        if (!supported(isa)) continue;
        if (text == name(isa)) return isa;
        known += known.empty() ? name(isa) : std::string(", ") + name(isa);
    }
    throw Error(ErrorCode::invalid_argument, "isa is '" + text + "'; this machine has " + known);
}

}  // namespace kith::cpu
