// Floating-point states that a process may be in when it calls: each is set, the call is made, and the registers must
// then be what they were, sticky flags among them. Shares no code with src/.
#pragma once

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <string>
#include <vector>

namespace float_states {

// All that a thread rounds by and has met.
struct Registers {
#if defined(__x86_64__)
    std::uint32_t sse = 0;
    std::uint16_t control = 0, flags = 0;  // of the x87 unit
    static Registers now() {
        Registers r;
        __asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2" : "=m"(r.sse), "=m"(r.control), "=m"(r.flags));
        r.flags &= FE_ALL_EXCEPT;
        return r;
    }
#elif defined(__aarch64__)
    std::uint64_t control = 0, flags = 0;
    static Registers now() {
        Registers r;
        __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(r.control), "=r"(r.flags));
        return r;
    }
#else
    int control = 0, flags = 0;
    static Registers now() {
        return {std::fegetround(), std::fetestexcept(FE_ALL_EXCEPT)};
    }
#endif
    bool operator==(const Registers&) const = default;
};

// Flushing of subnormal results and reading of subnormal operands as 0, as -ffast-math sets them for a process.
inline void flush(bool results, bool operands) {
#if defined(__x86_64__)
    std::uint32_t sse = Registers::now().sse | (results ? 0x8000u : 0u) | (operands ? 0x0040u : 0u);
    __asm__ volatile("ldmxcsr %0" : : "m"(sse));
#elif defined(__aarch64__)
    if (results || operands) __asm__ volatile("msr fpcr, %0" : : "r"(Registers::now().control | 1u << 24));
#else
    static_cast<void>(results || operands);
#endif
}

// The 24 bits of precision that old programs set for long double.
inline void shorten() {
#if defined(__x86_64__)
    auto control = static_cast<std::uint16_t>(Registers::now().control & ~0x0300u);
    __asm__ volatile("fldcw %0" : : "m"(control));
#endif
}

inline void unmask() {
#if defined(__GLIBC__)
    feenableexcept(FE_ALL_EXCEPT);
#endif
}

struct State {
    const char* name;
    void (*set)();
};
inline const State all[] = {
    {"FTZ", [] { flush(true, false); }},
    {"DAZ", [] { flush(false, true); }},
    {"FTZ and DAZ", [] { flush(true, true); }},
    {"upward", [] { std::fesetround(FE_UPWARD); }},
    {"downward", [] { std::fesetround(FE_DOWNWARD); }},
    {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }},
    {"exceptions unmasked", unmask},
    {"short precision", shorten},
    {"all together",
     [] {
         flush(true, true);
         shorten();
         std::fesetround(FE_UPWARD);
         unmask();
     }},
};

// The initial state of a process; its flags are clear.
inline void set_default() {
    std::fesetenv(FE_DFL_ENV);
}

// The result of call(), called in `state` without a sticky flag, which is there again afterwards.
template <class F>
auto called_in(const State& state, const F& call) {
    struct Default {
        ~Default() { set_default(); }
    };
    set_default();
    const Default at_the_end;
    state.set();
    const Registers before = Registers::now();
    auto result = call();
    const Registers after = Registers::now();
    set_default();
    EXPECT_EQ(before, after) << state.name << ": the caller's state was not restored";
    return result;
}

}  // namespace float_states
