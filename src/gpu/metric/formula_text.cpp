// A compiled formula as CUDA C++: each operation as formula/operations.h has it; exp, log and pow,
// the order of keys and the tiles from the texts of the headers that have them.
#include "gpu/metric/formula_text.h"

#include <fmt/format.h>

#include "gpu/metric/kernel_sources.h"
#include "metric/portable.h"

namespace kith::gpu {

namespace {

using formula::Op;

const char* operation_of_binary64(Op op) {
    switch (op) {
        case Op::absolute:
            return "fabs({0})";
        case Op::root:
            return "__dsqrt_rn({0})";
        case Op::exponential:
            return "kith::portable::any_exp({0})";
        case Op::logarithm:
            return "kith::portable::any_log({0})";
        case Op::add:
            return "__dadd_rn({0}, {1})";
        case Op::subtract:
            return "__dsub_rn({0}, {1})";
        case Op::multiply:
            return "__dmul_rn({0}, {1})";
        case Op::divide:
            return "__ddiv_rn({0}, {1})";
        case Op::minimum:
            return "{0} != {0} ? {1} : ({1} < {0} ? {1} : {0})";
        case Op::maximum:
            return "{0} != {0} ? {1} : ({0} < {1} ? {1} : {0})";
        case Op::power:
            return "kith::portable::any_pow({0}, {1})";
        default:
            return nullptr;
    }
}

// What is written alike in every arithmetic.
const char* operation_of_any(Op op) {
    switch (op) {
        case Op::negative:
            return "-{0}";
        case Op::logical_not:
            return "{0} == 0 ? 1 : 0";
        case Op::less:
            return "{0} < {1} ? 1 : 0";
        case Op::less_equal:
            return "{0} <= {1} ? 1 : 0";
        case Op::equal:
            return "{0} == {1} ? 1 : 0";
        case Op::unequal:
            return "{0} != {1} ? 1 : 0";
        case Op::logical_and:
            return "{0} != 0 ? ({1} != 0 ? 1 : 0) : 0";
        case Op::logical_or:
            return "{0} != 0 ? 1 : ({1} != 0 ? 1 : 0)";
        case Op::select:
            return "{0} != 0 ? {1} : {2}";
        default:  // no arguments
            return "";
    }
}

// A step's value i: a variable of its own, or a, q, x.
std::string argument_text(const formula::Program& program, std::int32_t i) {
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
}

// What an operation adds to a kernel, roughly in instructions.
int weight_of(Op op) {
    switch (op) {
        case Op::power:
            return 200;
        case Op::exponential:
        case Op::logarithm:
            return 80;
        case Op::divide:
        case Op::root:
            return 16;
        default:
            return 2;
    }
}
// Of a kernel's loop, about: what NVRTC compiles within half a second. Other limits have not been
// timed.
constexpr int most_weight = 1200;

constexpr const char* kernel = R"(
struct Step {
    __device__ __forceinline__ double operator()(double a, double q, double x) const { return step(a, q, x); }
};
struct StoreKeys {
    unsigned long long* keys;
    long long ld;
    const unsigned char *query_nan, *point_nan;
    const long long* self;
    long long first_point;
    struct Row {
        unsigned long long* keys;
        const unsigned char* point_nan;
        bool nan;
        long long self;
        __device__ __forceinline__ void operator()(long long x, double a) const {
            using Order = kith::exact::Order<double>;
            const double rank = a != a ? kith::bits_to_double(0x7ff0000000000000ULL) : a;
            keys[x] = nan | (point_nan[x] != 0) | (x == self) ? Order::nan : Order::key(rank);
        }
    };
    __device__ __forceinline__ Row row(long long q) const {
        return {keys + q * ld, point_nan, query_nan[q] != 0, self ? self[q] - first_point : -1};
    }
};
extern "C" __global__ void __launch_bounds__(Tiles::threads, Tiles::blocks)
    formula(double start, const double* queries, long long q_count, const double* points, long long x_count,
            long long d, StoreKeys store) {
    Tiles::run(Step{}, store, start, queries, q_count, points, x_count, d);
}
)";

constexpr const char* std_types = "namespace std { using uint32_t = unsigned; }\n";

// Elements of each type.
constexpr const char* readers = R"(
template <class T>
struct Plain {
    static __device__ __forceinline__ double at(const void* from, long long i) {
        return static_cast<double>(static_cast<const T*>(from)[i]);
    }
};
struct Half {
    static __device__ __forceinline__ double at(const void* from, long long i) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<const unsigned short*>(from)[i]));
        return value;
    }
};
struct BFloat {
    static __device__ __forceinline__ double at(const void* from, long long i) {
        return __uint_as_float(static_cast<unsigned>(static_cast<const unsigned short*>(from)[i]) << 16);
    }
};
)";
// A thread owns a candidate, and takes its coordinates one after the other.
constexpr const char* refine_kernel = R"(
struct Rows {
    const void* data;
    long long row_stride, col_stride;
    const unsigned char* nan;
};
extern "C" __global__ void refine(double start, Rows queries, Rows points, const unsigned* ids, const int* counts,
                                  long long capacity, unsigned long long* keys, long long d) {
    using Order = kith::exact::Order<double>;
    const long long q = blockIdx.x;
    for (long long c = blockIdx.y * blockDim.x + threadIdx.x; c < counts[q]; c += gridDim.y * blockDim.x) {
        const long long x = ids[q * capacity + c];
        double a = start;
#pragma unroll 4
        for (long long i = 0; i < d; ++i)
            a = step(a, QueryReader::at(queries.data, q * queries.row_stride + i * queries.col_stride),
                     PointReader::at(points.data, x * points.row_stride + i * points.col_stride));
        const double rank = a != a ? kith::bits_to_double(0x7ff0000000000000ULL) : a;
        keys[q * capacity + c] = queries.nan[q] | points.nan[x] ? Order::nan : Order::key(rank);
    }
}
)";

// How the kernel reads elements of that type.
const char* reader_of(ElementType type) {
    switch (type) {
        case ElementType::f32:
            return "Plain<float>";
        case ElementType::f64:
            return "Plain<double>";
        case ElementType::f16:
            return "Half";
        case ElementType::bf16:
            return "BFloat";
        case ElementType::i8:
            return "Plain<signed char>";
        case ElementType::u8:
            return "Plain<unsigned char>";
        default:
            return "";
    }
}

}  // namespace

const Arithmetic& binary64() {
    static constexpr Arithmetic arithmetic{"double", operation_of_binary64, [](double value) {
                                               return fmt::format("kith::bits_to_double({:#x}ULL)",
                                                                  double_to_bits(value));
                                           }};
    return arithmetic;
}

std::string step_text(const formula::Program& program, const std::string& name,
                      const Arithmetic& arithmetic) {
    const auto argument = [&](std::int32_t i) { return argument_text(program, i); };
    std::string text = fmt::format("__device__ __forceinline__ {0} {1}({0} a, {0} q, {0} x) {{\n",
                                   arithmetic.type, name);
    for (std::size_t i = 0; i < program.values.size(); ++i) {
        const formula::Value& v = program.values[i];
        const std::string variable = fmt::format("    const {} v{} = ", arithmetic.type, i);
        if (v.op == Op::constant) {
            text += fmt::format("{}{};  // {}\n", variable, arithmetic.constant(v.constant),
                                v.constant);
        } else if (formula::arity(v.op) > 0) {
            const char* const own = arithmetic.operation(v.op);
            text += variable +
                    fmt::format(fmt::runtime(own ? own : operation_of_any(v.op)),
                                argument(v.args[0]), argument(v.args[1]), argument(v.args[2])) +
                    ";\n";
        }
    }
    return text + "    return " + argument(program.result) + ";\n}\n";
}

FormulaTile tile_of(const formula::Program& program, std::int64_t queries) {
    int weight = 0;
    for (const formula::Value& v : program.values) weight += weight_of(v.op);
    if (queries <= 4) return {64, 1, 4 * weight <= most_weight ? 4 : 1};
    if (queries <= 16) return {16, 1, 4 * weight <= most_weight ? 4 : 1};
    const int each = 16 * weight <= most_weight ? 4 : 4 * weight <= most_weight ? 2 : 1;
    return {16, each, each};
}

std::string refine_text(const std::string& step, ElementType queries, ElementType points) {
    return std::string(portable_source) + std_types + order_source + step + readers +
           fmt::format("using QueryReader = {};\nusing PointReader = {};\n", reader_of(queries),
                       reader_of(points)) +
           refine_kernel;
}

std::string kernel_text(const std::string& step, const FormulaTile& tile) {
    return std::string(portable_source) + std_types + order_source + functor_tile_source + step +
           fmt::format("using Tiles = kith::StepTiles<{}, {}, {}>;\n", tile.columns,
                       tile.queries_each, tile.points_each) +
           kernel;
}

}  // namespace kith::gpu
