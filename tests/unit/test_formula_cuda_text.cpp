// The CUDA text of formulas: NVRTC compiles what any formula becomes, without a device.
#include <gtest/gtest.h>

#include "formula_cases.h"
#include "gpu/backend.h"
#include "gpu/filter/direct/formula_pass.h"
#include "gpu/metric/formula_text.h"
#include "gpu/runtime/nvrtc.h"
#include "kith/error.h"

namespace {

using kith::formula::compile;
using kith::gpu::step_text;

TEST(FormulaCudaText, IsTheSameForFormulasThatDifferInTheirWritingOnly) {
    const std::string text = step_text(*compile("a + fabs(q-x) * 10"));
    EXPECT_EQ(text, step_text(*compile(" a+fabs( q - x )*\t(010)\n")));
    EXPECT_EQ(text, step_text(*compile("(a + (abs(q - x) * 1e1))")));
    EXPECT_NE(text, step_text(*compile("fabs(q-x) * 10 + a")));
}

TEST(FormulaCudaText, Compiles) {
    if (kith::gpu::formula_compiler().rfind("none", 0) == 0) GTEST_SKIP() << kith::gpu::formula_compiler();
    std::string steps, calls;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        formula_cases::Generator random(seed);
        const auto program = compile(random.text(random.expression(1 + static_cast<int>(random.below(5)))));
        const std::string name = "step" + std::to_string(seed);
        steps += step_text(*program, name);
        calls += " + " + name + "(a, q, x)";
    }
    for (const char* text : {"1e308 * 10", "-(1e308 * 10)", "0 * (1e308 * 10)", "5e-324", "-0", "1/3", "a", "q", "x"})
        EXPECT_NO_THROW(kith::gpu::compile_cuda(kith::gpu::kernel_text(step_text(*compile(text)), {16, 4, 4}), 80))
            << text;
    steps += "__device__ double step(double a, double q, double x) { return 0" + calls + "; }\n";
    for (const int capability : {80, 90}) {
        std::vector<char> image;
        ASSERT_NO_THROW(image = kith::gpu::compile_cuda(kith::gpu::kernel_text(steps, {}), capability));
        EXPECT_GT(image.size(), 1000u);
    }
}

TEST(FormulaCudaText, FiltersCompile) {
    if (kith::gpu::formula_compiler().rfind("none", 0) == 0) GTEST_SKIP() << kith::gpu::formula_compiler();
    for (const char* text : {"a + fabs(q - x)", "a - pow(q, 1.5) / exp(x) * log(1 + q * q) + sqrt(x * x)",
                             "q < x && !a || q == 0 != (x <= 1) ? min(a, -q) : max(1e-300, x) + "
                             "1e38 * 0.1"})
        EXPECT_NO_THROW(kith::gpu::compile_cuda(kith::gpu::filter_text(*compile(text)), 90, true)) << text;
    EXPECT_NO_THROW(kith::gpu::compile_cuda(kith::gpu::filter_text(*compile("max(a, fabs(q - x))")), 80, true));
    using enum kith::ElementType;
    for (const auto type : {f32, f64, f16, bf16, i8, u8})
        EXPECT_NO_THROW(
            kith::gpu::compile_cuda(kith::gpu::refine_text(step_text(*compile("a + q * x")), type, f32), 80))
            << kith::name(type);
}

TEST(FormulaCudaText, SaysWhatDoesNotCompile) {
    if (kith::gpu::formula_compiler().rfind("none", 0) == 0) GTEST_SKIP() << kith::gpu::formula_compiler();
    try {
        kith::gpu::compile_cuda("double nonsense(", 80);
        ADD_FAILURE() << "compiled";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::device, error.code());
        EXPECT_NE(std::string::npos, std::string(error.what()).find("expected")) << error.what();
    }
}

}  // namespace
