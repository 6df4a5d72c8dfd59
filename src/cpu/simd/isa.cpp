// Instruction sets by name, and which of them this machine has.
#include "cpu/simd/isa.h"

#include <atomic>

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

// Products of bf16 and of 8-bit numbers in matrix registers, which the system has to save and to
// permit: for this process, once.
bool has_amx() {
#if defined(__linux__)
    constexpr unsigned products = 1u << 22 | 1u << 24 | 1u << 25,
                       saved = 3u << 17;  // bf16, registers, bytes
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

// A bit for each Isa, and those of more instructions.
constexpr unsigned bit_of(Isa isa) {
    return 1u << static_cast<int>(isa);
}
constexpr unsigned bf16 = 1u << isa_count, vnni = bf16 << 1;

unsigned ask_processor() {
    unsigned sets = bit_of(Isa::baseline);
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !has_f16c())
        return sets;
    sets |= bit_of(Isa::avx2);
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw"))
        return sets;
    sets |= bit_of(Isa::avx512);
    if (has_amx()) sets |= bit_of(Isa::amx);
    if (__builtin_cpu_supports("avx512bf16")) sets |= bf16;
    if (__builtin_cpu_supports("avx512vnni")) sets |= vnni;
    return sets;
}

// Asked once: in a virtual machine cpuid takes tens of microseconds. 0: not yet. Two threads may
// both ask.
constinit std::atomic<unsigned> known_sets{0};

unsigned sets() {
    unsigned known = known_sets.load(std::memory_order_relaxed);
    if (known == 0) known_sets.store(known = ask_processor(), std::memory_order_relaxed);
    return known;
}

}  // namespace

bool supported(Isa isa) {
    return sets() & bit_of(isa);
}

bool supports_bf16() {
    return sets() & bf16;
}

bool supports_vnni() {
    return sets() & vnni;
}
#else
bool supported(Isa isa) {
    return isa == Isa::baseline;
}

bool supports_bf16() {
    return false;
}

bool supports_vnni() {
    return false;
}
#endif

Isa best_isa() {
    return supported(Isa::amx)      ? Isa::amx
           : supported(Isa::avx512) ? Isa::avx512
           : supported(Isa::avx2)   ? Isa::avx2
                                    : Isa::baseline;
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
