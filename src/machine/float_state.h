// Sets the floating-point state that distances are defined in, while the library runs on a thread.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace kith::machine {

// A thread's floating-point control registers, and the sticky exception flags.
struct FloatRegisters {
#if defined(__x86_64__)
    std::uint32_t sse = 0;                  // MXCSR: control and flags
    std::uint16_t control = 0, status = 0;  // of the x87 unit, which computes long double
    static constexpr std::uint32_t sse_flags = 0x3f, sse_default = 0x1f80;
    static constexpr std::uint16_t all_control = 0x0f3f, default_control = 0x033f, all_flags = 0x3f;

    static FloatRegisters now() noexcept {
        FloatRegisters r;
        __asm__ volatile("stmxcsr %0" : "=m"(r.sse) : : "memory");
        __asm__ volatile("fnstcw %0" : "=m"(r.control) : : "memory");
        __asm__ volatile("fnstsw %0" : "=a"(r.status) : : "memory");
        return r;
    }
    // Rounds to nearest, supports subnormal numbers, and traps no exception.
    bool as_defined() const noexcept {
        return (sse & ~sse_flags) == sse_default && (control & all_control) == default_control;
    }
    FloatRegisters made_as_defined() const noexcept {
        FloatRegisters r = *this;
        r.sse = (sse & sse_flags) | sse_default;
        r.control = static_cast<std::uint16_t>((control & ~all_control) | default_control);
        return r;
    }
    // `before`: the current registers. Writes only what differs.
    void load(const FloatRegisters& before) const noexcept {
        if (sse != before.sse) __asm__ volatile("ldmxcsr %0" : : "m"(sse) : "memory");
        if (control == before.control && ((status ^ before.status) & all_flags) == 0) return;
        // Storing it masks all exceptions, so that none is pending when it is loaded again.
        struct Environment {
            std::uint32_t control, status, others[5];
        } environment;
        __asm__ volatile("fnstenv %0" : "=m"(environment) : : "memory");
        environment.control = (environment.control & ~0xffffu) | control;
        environment.status =
            (environment.status & ~std::uint32_t{all_flags}) | (status & std::uint32_t{all_flags});
        __asm__ volatile("fldenv %0" : : "m"(environment) : "memory");
    }
#elif defined(__aarch64__)
    std::uint64_t control = 0, status = 0;  // FPCR, FPSR

    static FloatRegisters now() noexcept {
        FloatRegisters r;
        __asm__ volatile("mrs %0, fpcr" : "=r"(r.control) : : "memory");
        __asm__ volatile("mrs %0, fpsr" : "=r"(r.status) : : "memory");
        return r;
    }
    bool as_defined() const noexcept {
        return control == 0;
    }
    FloatRegisters made_as_defined() const noexcept {
        return {0, status};
    }
    void load(const FloatRegisters& before) const noexcept {
        if (control != before.control) __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
        if (status != before.status) __asm__ volatile("msr fpsr, %0" : : "r"(status) : "memory");
    }
#else
    std::fenv_t environment{};

    static FloatRegisters now() noexcept {
        FloatRegisters r;
        std::fegetenv(&r.environment);
        return r;
    }
    bool as_defined() const noexcept {
        return false;
    }
    FloatRegisters made_as_defined() const noexcept {
        FloatRegisters r = *this;
        std::fesetenv(FE_DFL_ENV);
        std::fegetenv(&r.environment);
        return r;
    }
    void load(const FloatRegisters&) const noexcept {
        std::fesetenv(&environment);
    }
#endif
};

// The state of a thread.
struct ThreadFloatState {
    bool within = false;       // inside a FloatState; otherwise the state is the caller's
    FloatRegisters callers{};  // restored on leave()

    void enter() noexcept {
        callers = FloatRegisters::now();
        if (!callers.as_defined()) callers.made_as_defined().load(callers);
        within = true;
    }
    void leave() noexcept {
        within = false;
        callers.load(FloatRegisters::now());
    }
};
inline constinit thread_local ThreadFloatState thread_float_state;

// While an object lives, its thread computes as docs/contract.md defines. Settings of other
// libraries, such as flush-to-zero, other rounding modes or trapping exceptions, are suspended. The
// destructor restores the caller's control bits and sticky flags. Every public function and every
// thread of the library has one; a nested one does nothing.
class FloatState {
public:
    FloatState() noexcept : outermost_(!thread_float_state.within) {
        if (outermost_) thread_float_state.enter();
    }
    ~FloatState() {
        if (outermost_) thread_float_state.leave();
    }
    FloatState(const FloatState&) = delete;
    FloatState& operator=(const FloatState&) = delete;

private:
    bool outermost_;
};

// While an object lives, its thread has the caller's state. It surrounds every call of a function
// of the caller, except a caller's distance (functor.h). Changes made there become the caller's
// state.
class CallersFloatState {
public:
    CallersFloatState() noexcept : left_(thread_float_state.within) {
        if (left_) thread_float_state.leave();
    }
    ~CallersFloatState() {
        if (left_) thread_float_state.enter();
    }
    CallersFloatState(const CallersFloatState&) = delete;
    CallersFloatState& operator=(const CallersFloatState&) = delete;

private:
    bool left_;
};

// Wraps a caller's function to run in its caller's state. It must outlive the result.
template <class F>
auto for_caller(const F& function) {
    return [&function](const auto&... arguments) {
        const CallersFloatState state;
        return function(arguments...);
    };
}

// A call boundary: prevents moving call()'s computation to where the caller's state is set.
template <class F>
[[gnu::noinline]] auto apart(const F& call) {
    return call();
}

// Runs call() in a FloatState.
template <class F>
auto in_float_state(const F& call) {
    const FloatState state;
    return apart(call);
}

}  // namespace kith::machine
