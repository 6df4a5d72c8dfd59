// A compiled formula as CUDA C++: each operation as formula/operations.h has it, exp, log and pow from the text of
// metric/portable.h.
#include "gpu/metric/formula_text.h"

#include <fmt/format.h>

#include "gpu/metric/portable_source.h"
#include "metric/portable.h"

namespace kith::gpu {

namespace {

using formula::Op;

// Of arguments {0}, {1}, {2}.
const char* text_of(Op op) {
    switch (op) {
        case Op::negative:
            return "-{0}";
        case Op::absolute:
            return "fabs({0})";
        case Op::root:
            return "__dsqrt_rn({0})";
        case Op::exponential:
            return "kith::portable::any_exp({0})";
        case Op::logarithm:
            return "kith::portable::any_log({0})";
        case Op::logical_not:
            return "{0} == 0.0 ? 1.0 : 0.0";
        case Op::add:
            return "__dadd_rn({0}, {1})";
        case Op::subtract:
            return "__dsub_rn({0}, {1})";
        case Op::multiply:
            return "__dmul_rn({0}, {1})";
        case Op::divide:
            return "__ddiv_rn({0}, {1})";
        case Op::less:
            return "{0} < {1} ? 1.0 : 0.0";
        case Op::less_equal:
            return "{0} <= {1} ? 1.0 : 0.0";
        case Op::equal:
            return "{0} == {1} ? 1.0 : 0.0";
        case Op::unequal:
            return "{0} != {1} ? 1.0 : 0.0";
        case Op::logical_and:
            return "{0} != 0.0 ? ({1} != 0.0 ? 1.0 : 0.0) : 0.0";
        case Op::logical_or:
            return "{0} != 0.0 ? 1.0 : ({1} != 0.0 ? 1.0 : 0.0)";
        case Op::minimum:
            return "{0} != {0} ? {1} : ({1} < {0} ? {1} : {0})";
        case Op::maximum:
            return "{0} != {0} ? {1} : ({0} < {1} ? {1} : {0})";
        case Op::power:
            return "kith::portable::any_pow({0}, {1})";
        case Op::select:
            return "{0} != 0.0 ? {1} : {2}";
        default:  // no arguments
            return "";
    }
}

// A thread owns one point and walks the queries of its block row.
constexpr const char* kernel = R"(
extern "C" __global__ void formula(double start, const double* queries, long long q_count, const double* points,
                                   long long x_count, long long d, double* out) {
    const long long x = blockIdx.x * 32ll + threadIdx.x;
    if (x >= x_count) return;
    for (long long q = blockIdx.y * 8ll + threadIdx.y; q < q_count; q += 8ll * gridDim.y) {
        double a = start;
        for (long long j = 0; j < d; ++j) a = step(a, queries[q * d + j], points[x * d + j]);
        out[q * x_count + x] = a;
    }
}
)";

}  // namespace

std::string step_text(const formula::Program& program, const std::string& name) {
    const auto argument = [&](std::int32_t i) -> std::string {
        switch (program.values[static_cast<std::size_t>(i)].op) {
            case Op::running:
                return "a";
            case Op::query:
                return "q";
            case Op::point:
                return "x";
            default:
                return fmt::format("v{}", i);
        }
    };
    std::string text = "__device__ __forceinline__ double " + name + "(double a, double q, double x) {\n";
    for (std::size_t i = 0; i < program.values.size(); ++i) {
        const formula::Value& v = program.values[i];
        if (v.op == Op::constant) {
            // By its bits: exact in every locale, infinities and NaN too.
            text += fmt::format("    const double v{} = kith::bits_to_double({:#x}ULL);  // {}\n", i,
                                double_to_bits(v.constant), v.constant);
        } else if (formula::arity(v.op) > 0) {
            text += fmt::format("    const double v{} = ", i) +
                    fmt::format(fmt::runtime(text_of(v.op)), argument(v.args[0]), argument(v.args[1]),
                                argument(v.args[2])) +
                    ";\n";
        }
    }
    return text + "    return " + argument(program.result) + ";\n}\n";
}

std::string kernel_text(const std::string& step) {
    return portable_source + step + kernel;
}

}  // namespace kith::gpu
