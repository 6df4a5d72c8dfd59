// Whole numbers of 8 bits on Hopper (bytes.h), with twice the coordinates of halves in an MMA and
// sums that are exact; see fused_kernel_sm90a.cuh. A row of a K-tile is 128 bytes either way: the
// schedule counts two numbers as one half.
//
// The first MMA starts the accumulators, and half norms are added where values are compared: an
// addition and a minimum are one instruction.
#include <array>

#include "gpu/filter/bytes.h"
#include "gpu/filter/fused_kernel_sm90a.cuh"

namespace kith::gpu {

namespace sm90a {

// What append_exchanged() asks of a thread's rows, whose sums, with the half norm of the column,
// pass within thresholds; values lie as append_candidates of candidates.cuh has them.
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

// The groups of sixteen of a thread's values that hold one whose sum and the half norm of its
// column are within the threshold of its row, as bits.
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
    __device__ AppendSums(const FilterPass& pass, const SurePairs&, int row)
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

void bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    if (pass.point_terms) {
        augmented_bytes_pass_sm_90a(pass, stream);
        return;
    }
    using namespace sm90a;
    // Of less than a K-tile by how many steps there are, of more by how many the last K-tile has.
    static constexpr std::array few = {byte_kernel<FixedSteps<1>>, byte_kernel<FixedSteps<2>>,
                                       byte_kernel<FixedSteps<3>>};
    static constexpr std::array many = {byte_kernel<ManySteps<0>>, byte_kernel<ManySteps<1>>,
                                        byte_kernel<ManySteps<2>>, byte_kernel<ManySteps<3>>};
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors,
                                                appends_by_exchange(pass.tiles != nullptr));
    const auto steps = static_cast<std::size_t>(schedule.steps);
    if (pass.says_sums && pass.tiles)
        launch_pass(byte_kernel<ManySteps<0>, true, true>, pass, {}, schedule, stream);
    else if (pass.says_sums)
        launch_pass(byte_kernel<ManySteps<0>, true>, pass, {}, schedule, stream);
    else
        launch_pass(steps < 4 ? few.at(steps - 1) : many.at(steps % 4), pass, {}, schedule, stream);
}

}  // namespace kith::gpu
