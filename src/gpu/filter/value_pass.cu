// Kernels of value_pass.h. A warp compares 32 points at a time, eight lanes to a point: of eight rows each lane reads
// 16 bytes, twice over, before it multiplies any of them, so that a multiprocessor has up to 128 KiB in flight.
#include <array>
#include <atomic>

#include "gpu/filter/byte_row.cuh"
#include "gpu/filter/coarse_threshold.cuh"
#include "gpu/filter/row_products.cuh"
#include "gpu/filter/thresholds.cuh"
#include "gpu/filter/value_pass.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = value_warps * 32, row_lanes = 8, rows = 8;
static_assert(rows * (32 / row_lanes) == value_step);

// Programmatic dependent launch, where the code is for compute capability 9.0: a kernel that is launched so may be
// placed from here on, as multiprocessors become free, and waits for the end of the one before it.
__device__ __forceinline__ void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The pass's queries to the block's shared memory, `slots` rows of so many words of which the last may be 0.
__device__ __forceinline__ void copy_queries(const ValuePass& pass, int slots, int words, uint4* out) {
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
    __device__ static void load_queries(const ValuePass& pass, const Source&, int slots, int words, uint4* out) {
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
    __device__ static void load_queries(const ValuePass& pass, const Source& rounding, int slots, int words,
                                        uint4* out) {
        if (!rounding.vectors) return copy_queries(pass, slots, words, out);
        const auto row = static_cast<int>(threadIdx.x / 32);
        if (row >= slots) return;
        if (row >= pass.q) {
            for (int i = threadIdx.x % 32; i < words; i += 32) out[row * words + i] = uint4{0, 0, 0, 0};
            return;
        }
        const Directions& directions = rounding.directions;
        double* const shared = reinterpret_cast<double*>(out + slots * words) + row * byte_row_doubles(directions);
        const ByteRow rounded = round_to_bytes<true>(directions, rounding.vectors + row * directions.depth, {}, 0,
                                                     shared, reinterpret_cast<std::int8_t*>(out + row * words));
        if (blockIdx.x == 0 && threadIdx.x % 32 == 0) rounding.error[row] = rounded.error(directions.bytes);
    }
    __device__ static int factors(std::uint32_t word) { return static_cast<int>(word); }
    __device__ static void add(int& sum, int of_query, int of_point) { sum = __dp4a(of_query, of_point, sum); }
    __device__ static int plus(int a, int b) { return a + b; }
    __device__ static int value(int half_norm, int sum) { return half_norm + sum; }
    __device__ static std::uint32_t key(int a) { return value_key(a); }
};
__device__ __forceinline__ std::uint32_t word_of(const uint4& x, int i) {
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// Sums of eight rows over the eight lanes of a point: lane i ends with that of row i. At each step a lane sends the
// half that it does not keep.
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

// `queries` at least pass.q; `ahead`: runs of 16 bytes of a row that a lane reads before it multiplies.
template <class Rows, int queries, int ahead>
__global__ void __launch_bounds__(threads, value_blocks) value_kernel(ValuePass pass, typename Rows::Source source) {
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
        const auto last = static_cast<int>(min(pass.n - 1 - at, static_cast<std::int64_t>(rows - 1)));
        const uint4* const from = static_cast<const uint4*>(pass.points) + at * words;
        Sum sum[queries][rows] = {};
        for (int first = 0; first < words; first += row_lanes * ahead) {
            uint4 x[ahead][rows];
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const int word = first + u * row_lanes + part;
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    x[u][r] = word < words ? __ldg(from + min(r, last) * words + word) : uint4{0, 0, 0, 0};
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
                        for (int j = 0; j < queries; ++j) Rows::add(sum[j][r], of_query[j], of_point);
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
                const int first = __ffs(static_cast<int>(__ballot_sync(whole_warp, key == least_of_step))) - 1;
                least_upper[j] = static_cast<std::uint32_t>(step * value_step + first);
            }
            least_value[j] = min(least_value[j], least_of_step);
            if (lane == 0 && j < pass.q) pass.step_least[(j * pass.groups + group) * each + turn] = least_of_step;
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

constexpr int close_threads = 1024, per_thread = most_value_groups / close_threads;
// More steps than these have more candidates than a list: each has one, or the query itself.
constexpr int most_near_steps = value_candidates + 1;

// Of a thread's groups the i-th.
__device__ __forceinline__ int group(int i) {
    return static_cast<int>(threadIdx.x) + i * close_threads;
}

// The groups and steps that a block looks at.
struct NearShared {
    std::uint16_t groups[most_value_groups];
    int steps[most_near_steps];
    int near_groups, near_steps;
};

// The block calls found(there, position) for all positions of its query whose keys are at most `limit`, with `there`
// false for others: only groups and steps whose least keys are within it are read. `least`: of the groups, as
// group(i) says. Where so many steps have any that not all are read, false.
template <class Found>
__device__ bool positions_within(const ValuePass& pass, const std::uint32_t (&least)[per_thread], std::uint32_t limit,
                                 NearShared& s, Found found) {
    constexpr int ahead = 4, warps = close_threads / 32;
    const std::int64_t query = blockIdx.x;
    const auto groups = static_cast<int>(pass.groups);
    if (threadIdx.x == 0) s.near_groups = s.near_steps = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
        append<1>(least[i] <= limit && group(i) < groups, &s.near_groups,
                  [&](int slot, int) { s.groups[slot] = static_cast<std::uint16_t>(group(i)); });
    __syncthreads();
    const auto each = static_cast<int>(pass.steps_of_group()), all_steps = static_cast<int>(pass.steps());
    const int all = s.near_groups * each;
    const std::uint32_t* const least_of_steps = pass.step_least + query * groups * each;
    for (int first = 0; first < all; first += close_threads * ahead) {
        int step[ahead];
        std::uint32_t least_of_step[ahead];
        bool there[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            const int item = min(first + group(u), all - 1), of = s.groups[item / each];
            step[u] = of + item % each * groups;
            there[u] = first + group(u) < all && step[u] < all_steps;
            least_of_step[u] = there[u] ? least_of_steps[of * each + item % each] : Order::nan;
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u)
            append<1>(there[u] && least_of_step[u] <= limit, &s.near_steps, [&](int slot, int) {
                if (slot < most_near_steps) s.steps[slot] = step[u];
            });
    }
    __syncthreads();
    const int steps = min(s.near_steps, most_near_steps);
    const auto lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const std::uint32_t* const from = pass.values + query * pass.ld;
    for (int first = warp; first < steps; first += warps * ahead) {
        std::uint32_t key[ahead];
        std::int64_t position[ahead];
        bool there[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            const int item = first + u * warps;
            position[u] = s.steps[min(item, steps - 1)] * value_step + lane;
            there[u] = item < steps && position[u] < pass.n;
            key[u] = there[u] ? from[position[u]] : Order::nan;
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) found(there[u] && key[u] <= limit, position[u]);
    }
    __syncthreads();
    return s.near_steps <= most_near_steps;
}

// Pilots, the points whose values of all coordinates make a query's threshold: each warp takes those of its groups that
// have the least keys.
struct PilotShared {
    std::uint32_t upper[most_pilots];
};

// So few words are ranked by comparing all of them.
constexpr int most_ranked = 256;

// The key of the k-th smallest of the pilots' upper values. `least` and `at`: the least keys of the pass in each group,
// and where these are.
__device__ std::uint32_t pilot_key(const ValuePass& pass, const CoarseValues& coarse, const CandidateLists& lists,
                                   std::int64_t k, std::uint32_t (&least)[per_thread],
                                   const std::uint32_t (&at)[per_thread], ListShared& s, PilotShared& pilots) {
    constexpr int batch = 2;
    const auto lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const auto words = static_cast<int>(coarse.width / 8), each = coarse.pilots_of_warp, count = coarse.pilots;
    const uint4* const query = static_cast<const uint4*>(coarse.queries) + blockIdx.x * words;
    for (int first = 0; first < each && warp * each < count; first += batch) {
        std::uint32_t point[batch], own = 0;
        bool there[batch], own_there = false;
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            std::uint32_t own_least = Order::nan;
#pragma unroll
            for (int i = 0; i < per_thread; ++i) own_least = min(own_least, least[i]);
            const std::uint32_t key = __reduce_min_sync(whole_warp, own_least);
            const int from = __ffs(static_cast<int>(__ballot_sync(whole_warp, own_least == key))) - 1;
            std::uint32_t position = 0;
            bool taken = false;
#pragma unroll
            for (int i = 0; i < per_thread; ++i) {
                if (lane != from || taken || least[i] != key) continue;
                position = at[i];
                least[i] = Order::nan;
                taken = true;
            }
            position = __shfl_sync(whole_warp, position, from);
            there[j] = key != Order::nan;
            point[j] = there[j] ? position : 0;
            if (lane == j) {
                own = point[j];
                own_there = there[j];
            }
        }
        const float product = row_products(query, coarse.points, point, words);
        if (lane >= batch || first + lane >= each) continue;
        const float a = __fsub_rn(coarse.half_norm[own], product);
        pilots.upper[warp * each + first + lane] =
            own_there ? upper_key(a, coarse.point_error[own], lists.ceiling) : Order::nan;
    }
    __syncthreads();
    static_assert(most_pilots == close_threads);
    const bool mine = static_cast<int>(threadIdx.x) < count;
    const std::uint32_t upper[1] = {mine ? pilots.upper[threadIdx.x] : Order::nan};
    if (count > most_ranked) return smallest_key<close_threads>(upper, k, s);
    int before = 0;
    for (int i = 0; mine && i < count; ++i) {
        const std::uint32_t other = pilots.upper[i];
        before += other < upper[0] || (other == upper[0] && i < static_cast<int>(threadIdx.x));
    }
    if (mine && before == k - 1) s.sums[0] = upper[0];
    __syncthreads();
    return s.sums[0];
}

// A block owns a query.
template <bool is_coarse>
__global__ void __launch_bounds__(close_threads)
    close_kernel(ValuePass pass, CoarseValues coarse, CandidateLists lists, FilterForm form, CloseTask task,
                 unsigned long long* counted) {
    __shared__ ListShared s;
    __shared__ NearShared near;
    wait_for_previous();
    const std::int64_t query = blockIdx.x;
    const auto groups = static_cast<int>(pass.groups);
    const std::uint32_t *const upper = pass.least + 2 * query * groups, *const value = upper + groups;
    std::uint32_t least[per_thread], uppers[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const bool there = group(i) < groups;
        least[i] = there ? value[group(i)] : Order::nan;
        uppers[i] = there ? upper[group(i)] : Order::nan;
    }
    if (threadIdx.x == 0) s.kept = 0;
    const auto fitness = task.unfit[query];
    const bool known = fitness == fit && task.k <= groups;
    float threshold = __int_as_float(0x7f800000);
    bool sure = fitness == no_neighbours;
    __syncthreads();
    if (known) {
        std::uint32_t key = 0;
        if constexpr (is_coarse) {
            __shared__ PilotShared pilots;
            std::uint32_t left[per_thread];
#pragma unroll
            for (int i = 0; i < per_thread; ++i) left[i] = least[i];
            key = pilot_key(pass, coarse, lists, task.k, left, uppers, s, pilots);
        } else {
            key = smallest_key<close_threads>(uppers, task.k, s);
        }
        threshold = threshold_of(key, lists.query_error[query], lists);
        const bool fills = ends_finite(key, threshold, lists.query_error[query], lists);
        const std::int64_t rows = fills ? first_rows<close_threads>(task, lists.capacity) : 0;
        std::uint32_t limit = Order::key(threshold);
        if constexpr (is_coarse) {
            const float error = coarse.error[query];
            limit = pass.bytes ? value_key(coarse_threshold(threshold, error, coarse.step * coarse.step))
                               : Order::key(coarse_threshold(threshold, error));
        }
        const std::int64_t self = task.self ? task.self[query] : -1;
        std::uint32_t* const ids = task.ids + query * lists.capacity;
        sure = positions_within(pass, least, limit, near, [&](bool there, std::int64_t position) {
            const std::int64_t row = there ? row_at(form, position, task.n) : 0;
            append<1>(there && row != self && row >= rows, &s.kept, [&](int slot, int) {
                if (slot < lists.capacity) ids[slot] = static_cast<std::uint32_t>(row);
            });
        });
        if (fills) append_rows<close_threads>(task, query, rows, lists.capacity, ids, s);
        sure = sure && s.kept <= lists.capacity && (!fills || rows > 0);
    } else if (fitness == all_alike) {
        const std::int64_t rows = first_rows<close_threads>(task, lists.capacity);
        append_rows<close_threads>(task, query, rows, lists.capacity, task.ids + query * lists.capacity, s);
        sure = rows > 0 || task.n == 0;
    }
    if (threadIdx.x != 0) return;
    lists.counts[query] = sure ? s.kept : 0;
    lists.threshold[query] = threshold;
    task.status[query] = sure ? certified : uncertain;
    counted[query] = sure ? static_cast<unsigned long long>(s.kept) : no_certificate;
}

// Whether the current device runs code of close_kernel that waits for the kernel before it.
bool close_waits() {
    enum Answer { unknown, yes, no };
    static std::array<std::atomic<Answer>, max_devices> answers{};
    std::atomic<Answer>& answer = answers.at(static_cast<std::size_t>(current_device()));
    if (answer == unknown) {
        cudaFuncAttributes attributes{};
        check(cudaFuncGetAttributes(&attributes, close_kernel<false>), "cudaFuncGetAttributes");
        answer = device_attributes().capability >= 90 && attributes.ptxVersion >= 90 ? yes : no;
    }
    return answer == yes;
}

// Shared memory of a block: queries, and what rounding them takes.
std::size_t value_bytes(std::int64_t q, std::int64_t width) {
    return static_cast<std::size_t>(value_query_slots(q) * width * 2);
}
std::size_t rounding_bytes(const Directions& directions, std::int64_t q) {
    return static_cast<std::size_t>(q * byte_row_doubles(directions)) * sizeof(double);
}

template <class Rows>
void launch_values(const ValuePass& pass, const typename Rows::Source& source, std::size_t bytes, cudaStream_t stream) {
    const unsigned blocks = blocks_for(pass.groups, value_warps);
    const auto launch = [&](auto* kernel) { kernel<<<blocks, threads, bytes, stream>>>(pass, source); };
    const bool narrow = pass.width <= row_lanes * 8;
    if (pass.q == 1) launch(narrow ? value_kernel<Rows, 1, 1> : value_kernel<Rows, 1, 2>);
    else if (pass.q == 2) launch(narrow ? value_kernel<Rows, 2, 1> : value_kernel<Rows, 2, 2>);
    else launch(value_kernel<Rows, 4, 1>);
    check_launch("value_pass");
}

}  // namespace

bool rounds_queries(const Directions& directions, std::int64_t q) {
    return directions.bytes && !directions.matrix &&
           value_bytes(q, directions.form.width) + rounding_bytes(directions, q) <= value_query_bytes;
}

void value_pass(const ValuePass& pass, cudaStream_t stream, const QueryRounding& rounding) {
    const std::size_t bytes = value_bytes(pass.q, pass.width);
    if (pass.bytes) {
        const bool rounds = rounding.vectors != nullptr;
        launch_values<ByteRows>(pass, rounding, bytes + (rounds ? rounding_bytes(rounding.directions, pass.q) : 0),
                                stream);
    } else if (pass.point_error) {
        launch_values<HalfRows<true>>(pass, {}, bytes, stream);
    } else {
        launch_values<HalfRows<false>>(pass, {}, bytes, stream);
    }
}

void close_values(const ValuePass& pass, const CoarseValues& coarse, const CandidateLists& lists,
                  const FilterForm& form, const CloseTask& task, unsigned long long* counted, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(pass.q));
    config.blockDim = dim3(close_threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = close_waits() ? 1 : 0;
    auto* const kernel = pass.point_error ? close_kernel<false> : close_kernel<true>;
    check(cudaLaunchKernelEx(&config, kernel, pass, coarse, lists, form, task, counted), "close_values");
}

}  // namespace kith::gpu
