// Kernels of value_pass.h. A warp compares 32 points at a time, eight lanes to a point: of eight rows each lane reads
// 16 bytes, twice over, before it multiplies any of them, so that a multiprocessor has up to 128 KiB in flight.
#include <array>
#include <atomic>

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

// The two halves of a word, which are exact in f32.
__device__ __forceinline__ float2 halves(std::uint32_t word) {
    return __half22float2(*reinterpret_cast<const __half2*>(&word));
}
__device__ __forceinline__ std::uint32_t word_of(const uint4& x, int i) {
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// Sums of eight rows over the eight lanes of a point: lane i ends with that of row i. At each step a lane sends the
// half that it does not keep.
__device__ __forceinline__ float row_sum(float (&sum)[rows]) {
    const auto lane = threadIdx.x;
#pragma unroll
    for (int half = rows / 2; half > 0; half /= 2) {
        const bool upper = lane & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float kept = upper ? sum[i + half] : sum[i], sent = upper ? sum[i] : sum[i + half];
            sum[i] = __fadd_rn(kept, __shfl_xor_sync(whole_warp, sent, half));
        }
    }
    return sum[0];
}

// `queries` at least pass.q; `ahead`: runs of 16 bytes of a row that a lane reads before it multiplies.
template <int queries, int ahead>
__global__ void __launch_bounds__(threads, value_blocks) value_kernel(ValuePass pass) {
    extern __shared__ uint4 query_words[];  // queries x words
    let_next_begin();
    const auto words = static_cast<int>(pass.width / 8);
    const auto count = static_cast<int>(pass.q) * words;
    for (int i = threadIdx.x; i < queries * words; i += threads)
        query_words[i] = i < count ? static_cast<const uint4*>(pass.queries)[i] : uint4{0, 0, 0, 0};
    __syncthreads();
    const std::int64_t group = blockIdx.x * std::int64_t{value_warps} + threadIdx.x / 32;
    if (group >= pass.groups) return;
    const int lane = threadIdx.x % 32, part = lane % row_lanes, first_row = lane / row_lanes * rows;
    std::uint32_t least_upper[queries], least_value[queries];
#pragma unroll
    for (int j = 0; j < queries; ++j) least_upper[j] = least_value[j] = Order::nan;
    const std::int64_t steps = pass.steps(), each = pass.steps_of_group();
    std::int64_t turn = 0;
    for (std::int64_t step = group; step < steps; step += pass.groups, ++turn) {
        const std::int64_t position = step * value_step + lane;
        // Padded for whole tiles.
        const float half_norm = pass.half_norm[position], point_error = pass.point_error[position];
        // Rows past the last are the last.
        const std::int64_t at = min(step * value_step + first_row, pass.n - 1);
        const auto last = static_cast<int>(min(pass.n - 1 - at, static_cast<std::int64_t>(rows - 1)));
        const uint4* const from = static_cast<const uint4*>(pass.points) + at * words;
        float sum[queries][rows] = {};
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
                    float2 of_query[queries];
#pragma unroll
                    for (int j = 0; j < queries; ++j) of_query[j] = halves(word_of(y[j], i));
#pragma unroll
                    for (int r = 0; r < rows; ++r) {
                        const float2 of_point = halves(word_of(x[u][r], i));
#pragma unroll
                        for (int j = 0; j < queries; ++j) {
                            sum[j][r] = __fmaf_rn(of_query[j].x, of_point.x, sum[j][r]);
                            sum[j][r] = __fmaf_rn(of_query[j].y, of_point.y, sum[j][r]);
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int j = 0; j < queries; ++j) {
            const float a = __fsub_rn(half_norm, row_sum(sum[j]));
            if (j < pass.q) pass.values[j * pass.ld + position] = a;
            least_upper[j] = min(least_upper[j], upper_key(a, point_error, pass.ceiling));
            const std::uint32_t least_of_step = __reduce_min_sync(whole_warp, Order::key(a));
            least_value[j] = min(least_value[j], least_of_step);
            if (lane == 0 && j < pass.q) pass.step_least[(j * pass.groups + group) * each + turn] = least_of_step;
        }
    }
#pragma unroll
    for (int j = 0; j < queries; ++j) {
        const std::uint32_t upper = __reduce_min_sync(whole_warp, least_upper[j]);
        if (lane != 0 || j >= pass.q) continue;
        pass.least[2 * j * pass.groups + group] = upper;
        pass.least[(2 * j + 1) * pass.groups + group] = least_value[j];
    }
}

constexpr int close_threads = 1024, per_thread = most_value_groups / close_threads;
// More steps than these have more candidates than a list: each has one, or the query itself.
constexpr int most_near_steps = value_candidates + 1;

// A block owns a query. Only groups and steps whose least value is within the threshold are read.
__global__ void __launch_bounds__(close_threads)
    close_kernel(ValuePass pass, CandidateLists lists, FilterForm form, CloseTask task, unsigned long long* counted) {
    __shared__ ListShared s;
    __shared__ std::uint16_t groups_within[most_value_groups];
    __shared__ int steps_within[most_near_steps];
    __shared__ int near_groups, near_steps;
    wait_for_previous();
    const std::int64_t query = blockIdx.x;
    const auto groups = static_cast<int>(pass.groups);
    const auto group = [](int i) { return static_cast<int>(threadIdx.x) + i * close_threads; };
    const std::uint32_t *const upper = pass.least + 2 * query * groups, *const value = upper + groups;
    std::uint32_t uppers[per_thread], values[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const bool there = group(i) < groups;
        uppers[i] = there ? upper[group(i)] : Order::nan;
        values[i] = there ? value[group(i)] : Order::nan;
    }
    if (threadIdx.x == 0) s.kept = near_groups = near_steps = 0;
    const auto fitness = task.unfit[query];
    const bool known = fitness == fit && task.k <= groups;
    float threshold = __int_as_float(0x7f800000);
    bool sure = fitness == no_neighbours;
    __syncthreads();
    if (known) {
        threshold =
            threshold_of(smallest_key<close_threads>(uppers, task.k, s), lists.query_error[query], lists.growth);
        const std::uint32_t limit = Order::key(threshold);
#pragma unroll
        for (int i = 0; i < per_thread; ++i)
            append<1>(values[i] <= limit, &near_groups,
                      [&](int slot, int) { groups_within[slot] = static_cast<std::uint16_t>(group(i)); });
        __syncthreads();
        constexpr int ahead = 4, warps = close_threads / 32;
        const auto each = static_cast<int>(pass.steps_of_group()), all_steps = static_cast<int>(pass.steps());
        const int all = near_groups * each;
        const std::uint32_t* const least_of_steps = pass.step_least + query * groups * each;
        for (int first = 0; first < all; first += close_threads * ahead) {
            int step[ahead];
            std::uint32_t least[ahead];
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const int item = min(first + group(u), all - 1), of = groups_within[item / each];
                step[u] = of + item % each * groups;
                const bool there = first + group(u) < all && step[u] < all_steps;
                least[u] = there ? least_of_steps[of * each + item % each] : Order::nan;
            }
#pragma unroll
            for (int u = 0; u < ahead; ++u)
                append<1>(least[u] <= limit, &near_steps, [&](int slot, int) {
                    if (slot < most_near_steps) steps_within[slot] = step[u];
                });
        }
        __syncthreads();
        const int steps = near_steps <= most_near_steps ? near_steps : 0;
        const auto lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
        const std::int64_t self = task.self ? task.self[query] : -1;
        const float* const from = pass.values + query * pass.ld;
        std::uint32_t* const ids = task.ids + query * lists.capacity;
        for (int first = warp; first < steps; first += warps * ahead) {
            float a[ahead];
            std::int64_t position[ahead];
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const int item = first + u * warps;
                position[u] = steps_within[min(item, steps - 1)] * value_step + lane;
                a[u] = item < steps && position[u] < pass.n ? from[position[u]] : __int_as_float(0x7f800000);
            }
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                const bool within = a[u] <= threshold;
                const std::int64_t row = within ? row_at(form, position[u], task.n) : 0;
                append<1>(within && row != self, &s.kept, [&](int slot, int) {
                    if (slot < lists.capacity) ids[slot] = static_cast<std::uint32_t>(row);
                });
            }
        }
        __syncthreads();
        sure = near_steps <= most_near_steps && s.kept <= lists.capacity;
    } else if (fitness == all_alike) {
        sure = take_first<close_threads>(task, query, lists.capacity, task.ids + query * lists.capacity, s);
        __syncthreads();
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
        check(cudaFuncGetAttributes(&attributes, close_kernel), "cudaFuncGetAttributes");
        answer = device_attributes().capability >= 90 && attributes.ptxVersion >= 90 ? yes : no;
    }
    return answer == yes;
}

}  // namespace

void value_pass(const ValuePass& pass, cudaStream_t stream) {
    const unsigned blocks = blocks_for(pass.groups, value_warps);
    const auto bytes = static_cast<std::size_t>(value_query_slots(pass.q) * pass.width * 2);
    const auto launch = [&](auto* kernel) { kernel<<<blocks, threads, bytes, stream>>>(pass); };
    const bool narrow = pass.width <= row_lanes * 8;
    if (pass.q == 1) launch(narrow ? value_kernel<1, 1> : value_kernel<1, 2>);
    else if (pass.q == 2) launch(narrow ? value_kernel<2, 1> : value_kernel<2, 2>);
    else launch(value_kernel<4, 1>);
    check_launch("value_pass");
}

void close_values(const ValuePass& pass, const CandidateLists& lists, const FilterForm& form, const CloseTask& task,
                  unsigned long long* counted, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(pass.q));
    config.blockDim = dim3(close_threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = close_waits() ? 1 : 0;
    check(cudaLaunchKernelEx(&config, close_kernel, pass, lists, form, task, counted), "close_values");
}

}  // namespace kith::gpu
