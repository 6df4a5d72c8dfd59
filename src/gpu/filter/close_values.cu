// What closes the pass of value_pass.h: a query's threshold, and its candidates.
#include <array>
#include <atomic>

#include "gpu/filter/coarse_threshold.cuh"
#include "gpu/filter/row_products.cuh"
#include "gpu/filter/thresholds.cuh"
#include "gpu/filter/value_pass.h"
#include "gpu/primitives/dependent_launch.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

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

// The block calls found(there, position) for all positions of its query whose keys are at most
// `limit`, with `there` false for others: only groups and steps whose least keys are within it are
// read. `least`: of the groups, as group(i) says. Where so many steps have any that not all are
// read, false.
template <class Found>
__device__ bool positions_within(const ValuePass& pass, const std::uint32_t (&least)[per_thread],
                                 std::uint32_t limit, NearShared& s, Found found) {
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
    const auto each = static_cast<int>(pass.steps_of_group()),
               all_steps = static_cast<int>(pass.steps());
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

// Pilots, the points whose values of all coordinates make a query's threshold: each warp takes
// those of its groups that have the least keys.
struct PilotShared {
    std::uint32_t upper[most_pilots];
};

// So few words are ranked by comparing all of them.
constexpr int most_ranked = 256;

// The key of the k-th smallest of the pilots' upper values. `least` and `at`: the least keys of the
// pass in each group, and where these are.
__device__ std::uint32_t pilot_key(const ValuePass& pass, const CoarseValues& coarse,
                                   const CandidateLists& lists, std::int64_t k,
                                   std::uint32_t (&least)[per_thread],
                                   const std::uint32_t (&at)[per_thread], ListShared& s,
                                   PilotShared& pilots) {
    constexpr int batch = 2;
    const auto lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const auto words = static_cast<int>(coarse.width / 8), each = coarse.pilots_of_warp,
               count = coarse.pilots;
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
            const int from =
                __ffs(static_cast<int>(__ballot_sync(whole_warp, own_least == key))) - 1;
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
    close_kernel(ValuePass pass, CoarseValues coarse, CandidateLists lists, FilterForm form,
                 CloseTask task, unsigned long long* counted) {
    __shared__ ListShared s;
    __shared__ NearShared near;
    wait_for_previous();
    const std::int64_t query = blockIdx.x;
    const auto groups = static_cast<int>(pass.groups);
    const std::uint32_t *const upper = pass.least + 2 * query * groups, *const value =
                                                                            upper + groups;
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
            limit = pass.bytes
                        ? value_key(coarse_threshold(threshold, error, coarse.step * coarse.step))
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
        append_rows<close_threads>(task, query, rows, lists.capacity,
                                   task.ids + query * lists.capacity, s);
        sure = rows > 0 || task.n == 0;
    }
    if (threadIdx.x != 0) return;
    lists.counts[query] = sure ? s.kept : 0;
    lists.threshold[query] = threshold;
    task.status[query] = sure ? certified : uncertain;
    counted[query] = sure ? static_cast<unsigned long long>(s.kept) : no_certificate;
}

// Whether the current device runs code of close_kernel that waits for the kernel before it.
enum Answer { unknown, yes, no };
constinit std::array<std::atomic<Answer>, max_devices> close_answers{};
bool close_waits() {
    std::atomic<Answer>& answer = close_answers.at(static_cast<std::size_t>(current_device()));
    if (answer == unknown) {
        cudaFuncAttributes attributes{};
        check(cudaFuncGetAttributes(&attributes, close_kernel<false>), "cudaFuncGetAttributes");
        answer = device_attributes().capability >= 90 && attributes.ptxVersion >= 90 ? yes : no;
    }
    return answer == yes;
}

}  // namespace

void close_values(const ValuePass& pass, const CoarseValues& coarse, const CandidateLists& lists,
                  const FilterForm& form, const CloseTask& task, unsigned long long* counted,
                  cudaStream_t stream) {
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
    check(cudaLaunchKernelEx(&config, kernel, pass, coarse, lists, form, task, counted),
          "close_values");
}

}  // namespace kith::gpu
