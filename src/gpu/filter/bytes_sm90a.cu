// Whole numbers of 8 bits on Hopper (bytes.h), with twice the coordinates of halves in an MMA and sums that are exact;
// see fused_kernel_sm90a.cuh. A row of a K-tile is 128 bytes either way: the schedule counts two numbers as one half.
//
// The first MMA starts the accumulators, and half norms are added where values are compared: an addition and a minimum
// are one instruction.
#include <array>

#include "gpu/filter/bytes.h"
#include "gpu/filter/fused_kernel_sm90a.cuh"

namespace kith::gpu {

namespace sm90a {

// Appends the pairs of a thread's tile whose sums and the half norm of the column are within the threshold of the row.
// Values lie as append_candidates of candidates.cuh has them. One vote tells which 16 values of a thread hold any;
// mostly none do.
template <bool says_sums>
__device__ __forceinline__ void append_sums(const int (&d)[64], const int2* columns, int upper_row, int lower_row,
                                            std::uint32_t upper_query, std::uint32_t lower_query, std::uint32_t column,
                                            WarpList& list, const FilterPass& pass) {
    std::uint32_t hit = 0;
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
    hit = __reduce_or_sync(0xffffffffu, hit);
    if (hit == 0) return;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (!(hit >> group & 1u)) continue;
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const int* const x = d + group * 16 + i;
            const int2 two = columns[(group * 4 + i / 4) * 4];
            if (x[0] + two.x <= upper_row) mask |= 1u << i;
            if (x[1] + two.y <= upper_row) mask |= 2u << i;
            if (x[2] + two.x <= lower_row) mask |= 4u << i;
            if (x[3] + two.y <= lower_row) mask |= 8u << i;
        }
        append_to_list(mask, d + group * 16, list, pass, [&](int sum, int i, Candidate& entry, std::uint32_t& query) {
            const int* const half_norms = reinterpret_cast<const int*>(columns + (group * 4 + i / 4) * 4);
            entry = {says_sums ? __int_as_float(sum + half_norms[i % 2]) : 0.0f,
                     column + static_cast<std::uint32_t>(group * 4 + i / 4) * 8 + i % 2};
            query = i & 2 ? lower_query : upper_query;
        });
    }
}

// Appends candidates of the rows.
template <bool says_sums>
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
    __device__ void apply(const int (&d)[64], const ThreadValues& values, WarpList& list, const FilterPass& pass) {
        append_sums<says_sums>(d, reinterpret_cast<const int2*>(values.half_norms), upper_row, lower_row, upper_query,
                               lower_query, static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column),
                               list, pass);
    }
};

template <class Steps, bool says_sums = false, bool listed = false>
constexpr FusedKernel* byte_kernel =
    fused_sm_90a<Mainloop<Bytes, Start::first_product, Steps, listed>, AppendSums<says_sums>>;

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
    static constexpr std::array many = {byte_kernel<ManySteps<0>>, byte_kernel<ManySteps<1>>, byte_kernel<ManySteps<2>>,
                                        byte_kernel<ManySteps<3>>};
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    const auto steps = static_cast<std::size_t>(schedule.steps);
    if (pass.says_sums && pass.tiles) launch_pass(byte_kernel<ManySteps<0>, true, true>, pass, {}, schedule, stream);
    else if (pass.says_sums) launch_pass(byte_kernel<ManySteps<0>, true>, pass, {}, schedule, stream);
    else launch_pass(steps < 4 ? few.at(steps - 1) : many.at(steps % 4), pass, {}, schedule, stream);
}

}  // namespace kith::gpu
