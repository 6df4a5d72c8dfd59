// The kernels of formula_pass.h as text. Products and sums may be fused: that leaves out a rounding
// of the bound.
#include "gpu/filter/formula_pass.h"

#include <fmt/format.h>

#include "gpu/metric/formula_text.h"
#include "gpu/metric/kernel_sources.h"
#include "metric/portable.h"

namespace kith::gpu {

namespace {

using formula::Op;

const char* operation_of_filter(Op op) {
    switch (op) {
        case Op::absolute:
            return "fabsf({0})";
        case Op::root:
            return "root({0})";
        case Op::exponential:
            return "exp2_of({0} * 0x1.715476p+0f)";
        case Op::logarithm:
            return "log2_of({0}) * 0x1.62e43p-1f";
        case Op::add:
            return "{0} + {1}";
        case Op::subtract:
            return "{0} - {1}";
        case Op::multiply:
            return "{0} * {1}";
        case Op::divide:
            return "{0} * reciprocal({1})";
        case Op::minimum:
            return "fminf({0}, {1})";
        case Op::maximum:
            return "fmaxf({0}, {1})";
        case Op::power:
            return "exp2_of(log2_of({0}) * {1})";
        default:
            return nullptr;
    }
}

// f32, by `functions`.
constexpr Arithmetic filter_arithmetic{
    "float", operation_of_filter, [](double value) {
        return fmt::format("static_cast<float>(kith::bits_to_double({:#x}ULL))",
                           double_to_bits(static_cast<double>(static_cast<float>(value))));
    }};

// What the headers' texts need of those that they include.
constexpr const char* prelude = R"(
namespace std { using uint32_t = unsigned; using uint16_t = unsigned short; using uint8_t = unsigned char; }
typedef struct CUstream_st* cudaStream_t;
struct CUtensorMap;
namespace kith::exact {
enum class Step { dot };
enum class Coordinates { exact };
}
)";

constexpr const char* functions = R"(
__device__ __forceinline__ float root(float x) {
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float log2_of(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
)";

constexpr const char* kernels = R"(
struct FormulaStep : kith::gpu::direct::FloatStep {
    static constexpr bool starts = true;
    static constexpr int unrolled = words_unrolled;
    static __device__ __forceinline__ void step(float& a, float q, float x, float) { a = next(a, q, x); }
};
extern "C" __global__ void __launch_bounds__(kith::gpu::direct::threads, FormulaStep::blocks)
    filter_lists(const __grid_constant__ kith::gpu::FilterPass pass,
                 const __grid_constant__ kith::gpu::direct::Schedule schedule) {
    kith::gpu::direct::run_tiles<FormulaStep, false>(pass, schedule);
}
extern "C" __global__ void __launch_bounds__(kith::gpu::direct::threads, FormulaStep::blocks)
    filter_all(const __grid_constant__ kith::gpu::FilterPass pass,
               const __grid_constant__ kith::gpu::direct::Schedule schedule) {
    kith::gpu::direct::run_tiles<FormulaStep, true>(pass, schedule);
}
)";

// What a step takes for each pair; it stands in the kernel's text for each of a thread's 64.
int operations_of(const formula::Program& program) {
    int count = 0;
    for (const formula::Value& v : program.values)
        // What depends on the query or on nothing is not there once a pair.
        if (formula::arity(v.op) > 0 && v.level >= formula::Level::point) ++count;
    return count;
}

}  // namespace

std::string filter_step_text(const formula::Program& program) {
    return step_text(program, "next", filter_arithmetic);
}

std::string filter_text(const formula::Program& program) {
    // Words that a thread takes in one stretch of text: as many as keep it short enough to compile
    // within a second.
    const int operations = operations_of(program), words = operations <= 6    ? 4
                                                           : operations <= 16 ? 2
                                                                              : 1;
    return std::string(portable_source) + prelude + f32_source + mbarrier_source +
           async_copy_source + pass_source + segments_source + candidates_source +
           direct_schedule_source + direct_step_source + direct_tile_source + functions +
           filter_step_text(program) + fmt::format("constexpr int words_unrolled = {};\n", words) +
           kernels;
}

}  // namespace kith::gpu
