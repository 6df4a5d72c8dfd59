// int8 vectors on Hopper (bytes.h), with twice the coordinates of halves per MMA and exact sums;
// see fused_kernel_sm90a.cuh. A row of a K-tile is 128 bytes for both types: the schedule counts
// two int8 values as one half.
//
// The first MMA overwrites the accumulators, and the epilogue adds the half norms: an addition and
// a minimum are one instruction.
#include <array>

#include "gpu/filter/fused/fused_kernel_sm90a.cuh"
#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/sweeps.h"

namespace kith::gpu {

namespace sm90a {

// A thread's rows as append_exchanged() needs them. A pair is a candidate if its sum plus the half
// norm of the column is within the row's threshold. Values lie as in append_candidates of
// candidates.cuh.
template <bool says_sums>
struct SumRows {
    const int2* half_norms;  // of the thread's columns: two of every eight columns
    int upper_threshold, lower_threshold;
    std::uint32_t upper_query, lower_query, column;

    __device__ SumRows of(unsigned lane, unsigned own) const {
        const int columns = static_cast<int>(lane % 4) - static_cast<int>(own % 4);
        return {half_norms + columns,
                __shfl_sync(0xffffffffu, upper_threshold, lane),
                __shfl_sync(0xffffffffu, lower_threshold, lane),
                __shfl_sync(0xffffffffu, upper_query, lane),
                __shfl_sync(0xffffffffu, lower_query, lane),
                column + static_cast<std::uint32_t>(2 * columns)};
    }
    __device__ std::uint32_t sixteen(const int (&v)[64], int first) const {
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            mask |= passing(four_of(v, first + i), static_cast<unsigned>(first + i)) << i;
        return mask;
    }
    __device__ unsigned passing(const int4& four, unsigned first) const {
        const int2 two = half_norms[first];
        const auto within = [](int sum, int half_norm, int threshold) {
            return static_cast<int>(static_cast<unsigned>(sum) +
                                    static_cast<unsigned>(half_norm)) <= threshold;
        };
        return (within(four.x, two.x, upper_threshold) ? 1u : 0u) |
               (within(four.y, two.y, upper_threshold) ? 2u : 0u) |
               (within(four.z, two.x, lower_threshold) ? 4u : 0u) |
               (within(four.w, two.y, lower_threshold) ? 8u : 0u);
    }
    __device__ void entry(int sum, unsigned i, Candidate& entry, std::uint32_t& query) const {
        const int* const two = reinterpret_cast<const int*>(half_norms + i / 4 * 4);
        entry = {says_sums ? __int_as_float(sum + two[i % 2]) : 0.0f, column + i / 4 * 8 + i % 2};
        query = i & 2 ? lower_query : upper_query;
    }
};

// A bit for each group of sixteen of a thread's values that contains a candidate. A candidate's sum
// plus the half norm of its column is within the threshold of its row.
__device__ __forceinline__ unsigned hit_sums(const int (&d)[64], const int2* columns, int upper_row,
                                             int lower_row) {
    unsigned hit = 0;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        int upper = ByteLimits::largest, lower = ByteLimits::largest;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const int* const x = d + group * 16 + i;
            const int2 two = columns[(group * 4 + i / 4) * 4];
            upper = __viaddmin_s32(x[1], two.y, __viaddmin_s32(x[0], two.x, upper));
            lower = __viaddmin_s32(x[3], two.y, __viaddmin_s32(x[2], two.x, lower));
        }
        if (upper <= upper_row || lower <= lower_row) hit |= 1u << group;
    }
    return hit;
}

// Appends candidates of the rows.
template <bool says_sums, bool exchanges>
struct AppendSums : Epilogue {
    static constexpr bool reads_half_norms = true;
    int upper_row = ByteLimits::never, lower_row = ByteLimits::never;
    std::uint32_t upper_query, lower_query;
    __device__ AppendSums(const FilterPass& pass, int row)
        : upper_query(query_of_row(pass, row)), lower_query(query_of_row(pass, row + 8)) {
        const auto* const thresholds = reinterpret_cast<const int*>(pass.threshold);
        if (row < pass.q) upper_row = thresholds[row];
        if (row + 8 < pass.q) lower_row = thresholds[row + 8];
    }
    __device__ void apply(const int (&d)[64], const ThreadValues& values, WarpList& list,
                          const FilterPass& pass) {
        const auto* const columns = reinterpret_cast<const int2*>(values.half_norms);
        const unsigned hit = hit_sums(d, columns, upper_row, lower_row);
        const unsigned holding = __ballot_sync(0xffffffffu, hit != 0);
        if (holding == 0) return;
        const SumRows<says_sums> rows{
            columns,     upper_row,
            lower_row,   upper_query,
            lower_query, static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column)};
        if constexpr (exchanges)
            append_exchanged(d, hit, holding, values.exchange, list, pass, rows);
        else append_own(d, hit, list, pass, rows);
    }
};

template <class Steps, bool says_sums = false, bool listed = false>
constexpr FusedKernel* byte_kernel =
    fused_sm_90a<Mainloop<Bytes, Start::first_product, Steps, listed>,
                 AppendSums<says_sums, appends_by_exchange(listed)>>;

}  // namespace sm90a

void sweeps::int8_sm90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    // Below one K-tile indexed by the number of steps, otherwise by the steps of the last K-tile.
    static constexpr std::array few = {byte_kernel<FixedSteps<1>>, byte_kernel<FixedSteps<2>>,
                                       byte_kernel<FixedSteps<3>>};
    static constexpr std::array many = {byte_kernel<ManySteps<0>>, byte_kernel<ManySteps<1>>,
                                        byte_kernel<ManySteps<2>>, byte_kernel<ManySteps<3>>};
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors,
                                                appends_by_exchange(pass.tiles != nullptr));
    const auto steps = static_cast<std::size_t>(schedule.steps);
    if (pass.says_sums && pass.tiles)
        launch_pass(byte_kernel<ManySteps<0>, true, true>, pass, schedule, stream);
    else if (pass.says_sums) launch_pass(byte_kernel<ManySteps<0>, true>, pass, schedule, stream);
    else launch_pass(steps < 4 ? few.at(steps - 1) : many.at(steps % 4), pass, schedule, stream);
}

}  // namespace kith::gpu
