// machine::FloatState and CallersFloatState: what a thread computes in, what its caller gets back; io's mutex through
// fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "float_states.h"
#include "io/files/process_mutex.h"
#include "machine/float_state.h"

namespace {

using float_states::Registers;
using namespace kith;

// A sum that is rounded, and a product that is subnormal; opaque to the compiler.
double rounded() {
    volatile double one = 1, little = 0x1p-60;
    return one + little;
}
double subnormal() {
    volatile double small = 0x1p-1000, little = 0x1p-60;
    return small * little;
}

TEST(FloatRegisters, AreThoseOfTheDefinitionsWithin) {
    for (const float_states::State& state : float_states::all)
        float_states::called_in(state, [&] {
            const machine::FloatState within;
            // 1 / 0, which stops a program whose exceptions are unmasked.
            volatile double zero = 0, one = 1;
            EXPECT_EQ(one / zero, one / zero);
            EXPECT_EQ(1.0, rounded()) << state.name;
            EXPECT_EQ(0x1p-1060, subnormal()) << state.name;
            EXPECT_EQ(FE_TONEAREST, std::fegetround());
            volatile long double third = 1.0L, three = 3;
            third = third / three;
            EXPECT_EQ(1.0L / 3, third) << state.name;
            return 0;
        });
}

TEST(FloatRegisters, OfTheCallerHaveTheirFlagsAgain) {
    float_states::set_default();
    {
        const machine::FloatState within;
        rounded();
        subnormal();
    }
    EXPECT_EQ(0, std::fetestexcept(FE_ALL_EXCEPT));
    std::feraiseexcept(FE_DIVBYZERO);
    const Registers before = Registers::now();
    {
        const machine::FloatState within;
        std::feclearexcept(FE_ALL_EXCEPT);
        rounded();
    }
    EXPECT_EQ(before, Registers::now());
    float_states::set_default();
}

TEST(FloatRegisters, NestWithFunctionsOfTheCaller) {
    float_states::set_default();
    std::fesetround(FE_UPWARD);
    {
        const machine::FloatState outer, inner;
        EXPECT_EQ(FE_TONEAREST, std::fegetround());
        try {
            const machine::CallersFloatState callers;
            EXPECT_EQ(FE_UPWARD, std::fegetround());
            const machine::CallersFloatState again;
            EXPECT_EQ(FE_UPWARD, std::fegetround());
            {
                const machine::FloatState called_back;
                EXPECT_EQ(FE_TONEAREST, std::fegetround());
                const machine::CallersFloatState callers_of_that;
                EXPECT_EQ(FE_UPWARD, std::fegetround());
            }
            EXPECT_EQ(FE_UPWARD, std::fegetround());
            std::fesetround(FE_DOWNWARD);
            throw std::runtime_error("");
        } catch (const std::runtime_error&) {
            EXPECT_EQ(FE_TONEAREST, std::fegetround());
        }
        std::jthread([] { EXPECT_EQ(FE_TONEAREST, std::fegetround()); });
    }
    EXPECT_EQ(FE_DOWNWARD, std::fegetround());
    EXPECT_EQ(3, machine::in_float_state([] { return std::fegetround() == FE_TONEAREST ? 3 : 0; }));
    {
        const machine::CallersFloatState outside_of_any;
        EXPECT_EQ(FE_DOWNWARD, std::fegetround());
    }
    float_states::set_default();
}

constinit io::ProcessMutex mutex;

TEST(ProcessMutex, ExcludesThreadsAndIsHadAgainByItsOwn) {
    int count = 0;
    const auto work = [&] {
        for (int i = 0; i < 1000; ++i) {
            const io::ProcessLock lock(mutex, "a"), again(mutex, "a");
            ++count;
        }
    };
    {
        std::jthread other(work), third(work);
        work();
    }
    EXPECT_EQ(3000, count);
}

TEST(ProcessMutex, CannotBeHadInAChildWhoseParentHasIt) {
    std::atomic<int> step{0};
    std::jthread holder([&] {
        const io::ProcessLock lock(mutex, "a");
        step = 1;
        step.notify_one();
        step.wait(1);
    });
    step.wait(0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        try {
            const io::ProcessLock lock(mutex, "what");
            _exit(1);
        } catch (const Error& error) {
            _exit(error.code() == ErrorCode::bad_file && std::string(error.what()).starts_with("what: ") ? 0 : 2);
        }
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    step = 2;
    step.notify_one();
    EXPECT_EQ(0, status);
}

}  // namespace
