// The pass of value_pass.h. A warp compares 32 points at a time, eight lanes to a point: of eight
// rows each lane reads 16 bytes, twice over, before it multiplies any of them, so that a
// multiprocessor has up to 128 KiB in flight.
#include "gpu/filter/byte_row.cuh"
#include "gpu/filter/thresholds.cuh"
#include "gpu/filter/value_pass.h"
#include "gpu/primitives/dependent_launch.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = value_warps * 32, row_lanes = 8, rows = 8;
static_assert(rows * (32 / row_lanes) == value_step);

// The pass's queries to the block's shared memory, `slots` rows of so many words of which the last
// may be 0.
__device__ __forceinline__ void copy_queries(const ValuePass& pass, int slots, int words,
                                             uint4* out) {
    const int count = static_cast<int>(pass.q) * words;
    for (int i = threadIdx.x; i < slots * words; i += threads)
        out[i] = i < count ? static_cast<const uint4*>(pass.queries)[i] : uint4{0, 0, 0, 0};
}

// Rows of halves: a word's two are exact in f32. Without upper values a is a lower bound alone.
template <bool with_upper>
struct HalfRows {
    using Sum = float;
    using Factors = float2;
    struct Source {};
    static constexpr bool upper = with_upper;
    __device__ static void load_queries(const ValuePass& pass, const Source&, int slots, int words,
                                        uint4* out) {
        copy_queries(pass, slots, words, out);
    }
    __device__ static float2 factors(std::uint32_t word) {
        return __half22float2(*reinterpret_cast<const __half2*>(&word));
    }
    __device__ static void add(float& sum, float2 of_query, float2 of_point) {
        sum = __fmaf_rn(of_query.x, of_point.x, sum);
        sum = __fmaf_rn(of_query.y, of_point.y, sum);
    }
    __device__ static float plus(float a, float b) { return __fadd_rn(a, b); }
    __device__ static float value(float half_norm, float sum) { return __fsub_rn(half_norm, sum); }
    __device__ static std::uint32_t key(float a) { return Order::key(a); }
};
// Of whole numbers, which are negated in queries.
struct ByteRows {
    using Sum = int;
    using Factors = int;
    using Source = QueryRounding;
    static constexpr bool upper = false;
    // A warp rounds a query, in every block the same; what that takes lies behind the queries.
    __device__ static void load_queries(const ValuePass& pass, const Source& rounding, int slots,
                                        int words, uint4* out) {
        if (!rounding.vectors) return copy_queries(pass, slots, words, out);
        const auto row = static_cast<int>(threadIdx.x / 32);
        if (row >= slots) return;
        if (row >= pass.q) {
            for (int i = threadIdx.x % 32; i < words; i += 32)
                out[row * words + i] = uint4{0, 0, 0, 0};
            return;
        }
        const Directions& directions = rounding.directions;
        double* const shared =
            reinterpret_cast<double*>(out + slots * words) + row * byte_row_doubles(directions);
        const ByteRow rounded =
            round_to_bytes<true>(directions, rounding.vectors + row * directions.depth, {}, 0,
                                 shared, reinterpret_cast<std::int8_t*>(out + row * words));
        if (blockIdx.x == 0 && threadIdx.x % 32 == 0)
            rounding.error[row] = rounded.error(directions.bytes);
    }
    __device__ static int factors(std::uint32_t word) { return static_cast<int>(word); }
    __device__ static void add(int& sum, int of_query, int of_point) {
        sum = __dp4a(of_query, of_point, sum);
    }
    __device__ static int plus(int a, int b) { return a + b; }
    __device__ static int value(int half_norm, int sum) { return half_norm + sum; }
    __device__ static std::uint32_t key(int a) { return value_key(a); }
};
__device__ __forceinline__ std::uint32_t word_of(const uint4& x, int i) {
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// Sums of eight rows over the eight lanes of a point: lane i ends with that of row i. At each step
// a lane sends the half that it does not keep.
template <class Rows>
__device__ __forceinline__ typename Rows::Sum row_sum(typename Rows::Sum (&sum)[rows]) {
    using Sum = typename Rows::Sum;
    const auto lane = threadIdx.x;
#pragma unroll
    for (int half = rows / 2; half > 0; half /= 2) {
        const bool upper = lane & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const Sum kept = upper ? sum[i + half] : sum[i], sent = upper ? sum[i] : sum[i + half];
            sum[i] = Rows::plus(kept, __shfl_xor_sync(whole_warp, sent, half));
        }
    }
    return sum[0];
}

// `queries` at least pass.q; `ahead`: runs of 16 bytes of a row that a lane reads before it
// multiplies.
template <class Rows, int queries, int ahead>
__global__ void __launch_bounds__(threads, value_blocks)
    value_kernel(ValuePass pass, typename Rows::Source source) {
    using Sum = typename Rows::Sum;
    using Factors = typename Rows::Factors;
    extern __shared__ uint4 query_words[];  // queries x words
    let_next_begin();
    const auto words = static_cast<int>(pass.width / 8);
    Rows::load_queries(pass, source, queries, words, query_words);
    __syncthreads();
    const std::int64_t group = blockIdx.x * std::int64_t{value_warps} + threadIdx.x / 32;
    if (group >= pass.groups) return;
    const int lane = threadIdx.x % 32, part = lane % row_lanes, first_row = lane / row_lanes * rows;
    // Of each query the least upper value, or the position of the least value.
    std::uint32_t least_upper[queries], least_value[queries];
#pragma unroll
    for (int j = 0; j < queries; ++j) least_upper[j] = least_value[j] = Order::nan;
    const std::int64_t steps = pass.steps(), each = pass.steps_of_group();
    std::int64_t turn = 0;
    for (std::int64_t step = group; step < steps; step += pass.groups, ++turn) {
        const std::int64_t position = step * value_step + lane;
        // Padded for whole tiles.
        const Sum half_norm = reinterpret_cast<const Sum*>(pass.half_norm)[position];
        float point_error = 0;
        if constexpr (Rows::upper) point_error = pass.point_error[position];
        // Rows past the last are the last.
        const std::int64_t at = min(step * value_step + first_row, pass.n - 1);
        const auto last =
            static_cast<int>(min(pass.n - 1 - at, static_cast<std::int64_t>(rows - 1)));
        const uint4* const from = static_cast<const uint4*>(pass.points) + at * words;
        Sum sum[queries][rows] = {};
        for (int first = 0; first < words; first += row_lanes * ahead) {
            uint4 x[ahead][rows];
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const int word = first + u * row_lanes + part;
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    x[u][r] = word < words ? __ldg(from + min(r, last) * words + word)
                                           : uint4{0, 0, 0, 0};
            }
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const int word = min(first + u * row_lanes + part, words - 1);
                uint4 y[queries];
#pragma unroll
                for (int j = 0; j < queries; ++j) y[j] = query_words[j * words + word];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    Factors of_query[queries];
#pragma unroll
                    for (int j = 0; j < queries; ++j) of_query[j] = Rows::factors(word_of(y[j], i));
#pragma unroll
                    for (int r = 0; r < rows; ++r) {
                        const Factors of_point = Rows::factors(word_of(x[u][r], i));
#pragma unroll
                        for (int j = 0; j < queries; ++j)
                            Rows::add(sum[j][r], of_query[j], of_point);
                    }
                }
            }
        }
#pragma unroll
        for (int j = 0; j < queries; ++j) {
            const Sum a = Rows::value(half_norm, row_sum<Rows>(sum[j]));
            const std::uint32_t key = Rows::key(a);
            if (j < pass.q) pass.values[j * pass.ld + position] = key;
            const std::uint32_t least_of_step = __reduce_min_sync(whole_warp, key);
            if constexpr (Rows::upper) {
                least_upper[j] = min(least_upper[j], upper_key(a, point_error, pass.ceiling));
            } else if (least_of_step < least_value[j]) {
                const int first =
                    __ffs(static_cast<int>(__ballot_sync(whole_warp, key == least_of_step))) - 1;
                least_upper[j] = static_cast<std::uint32_t>(step * value_step + first);
            }
            least_value[j] = min(least_value[j], least_of_step);
            if (lane == 0 && j < pass.q)
                pass.step_least[(j * pass.groups + group) * each + turn] = least_of_step;
        }
    }
#pragma unroll
    for (int j = 0; j < queries; ++j) {
        if constexpr (Rows::upper) least_upper[j] = __reduce_min_sync(whole_warp, least_upper[j]);
        if (lane != 0 || j >= pass.q) continue;
        pass.least[2 * j * pass.groups + group] = least_upper[j];
        pass.least[(2 * j + 1) * pass.groups + group] = least_value[j];
    }
}

// Shared memory of a block: queries, and what rounding them takes.
std::size_t value_bytes(std::int64_t q, std::int64_t width) {
    return static_cast<std::size_t>(value_query_slots(q) * width * 2);
}
std::size_t rounding_bytes(const Directions& directions, std::int64_t q) {
    return static_cast<std::size_t>(q * byte_row_doubles(directions)) * sizeof(double);
}

template <class Rows>
void launch_values(const ValuePass& pass, const typename Rows::Source& source, std::size_t bytes,
                   cudaStream_t stream) {
    const unsigned blocks = blocks_for(pass.groups, value_warps);
    const auto launch = [&](auto* kernel) {
        kernel<<<blocks, threads, bytes, stream>>>(pass, source);
    };
    const bool narrow = pass.width <= row_lanes * 8;
    if (pass.q == 1) launch(narrow ? value_kernel<Rows, 1, 1> : value_kernel<Rows, 1, 2>);
    else if (pass.q == 2) launch(narrow ? value_kernel<Rows, 2, 1> : value_kernel<Rows, 2, 2>);
    else launch(value_kernel<Rows, 4, 1>);
    check_launch("value_pass");
}

}  // namespace

bool rounds_queries(const Directions& directions, std::int64_t q) {
    return directions.bytes && !directions.matrix &&
           value_bytes(q, directions.form.width) + rounding_bytes(directions, q) <=
               value_query_bytes;
}

void value_pass(const ValuePass& pass, cudaStream_t stream, const QueryRounding& rounding) {
    const std::size_t bytes = value_bytes(pass.q, pass.width);
    if (pass.bytes) {
        const bool rounds = rounding.vectors != nullptr;
        launch_values<ByteRows>(pass, rounding,
                                bytes + (rounds ? rounding_bytes(rounding.directions, pass.q) : 0),
                                stream);
    } else if (pass.point_error) {
        launch_values<HalfRows<true>>(pass, {}, bytes, stream);
    } else {
        launch_values<HalfRows<false>>(pass, {}, bytes, stream);
    }
}

}  // namespace kith::gpu
