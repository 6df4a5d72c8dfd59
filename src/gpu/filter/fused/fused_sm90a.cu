// fp16 vectors on Hopper, with the half norms in the accumulators; see fused_kernel_sm90a.cuh.
#include <array>

#include "gpu/filter/fused/fused_kernel_sm90a.cuh"
#include "gpu/filter/sweeps.h"

namespace kith::gpu {

namespace sm90a {

__device__ __forceinline__ float no_threshold() {
    return __int_as_float(0x7fffffff);
}

// Thresholds of a thread's rows.
struct RowThresholds : Epilogue {
    ThreadTile thread_tile;
    __device__ RowThresholds(const FilterPass& pass, int row)
        : thread_tile{static_cast<std::uint32_t>(row), 0, no_threshold(), no_threshold()} {
        if (row < pass.q) thread_tile.upper_threshold = pass.threshold[row];
        if (row + 8 < pass.q) thread_tile.lower_threshold = pass.threshold[row + 8];
    }
};

// Appends candidates of the rows.
struct AppendRows : RowThresholds {
    using RowThresholds::RowThresholds;
    __device__ void apply(const float (&d)[64], const ThreadValues& values, WarpList& list,
                          const FilterPass& pass) {
        thread_tile.column =
            static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column);
        append_candidates<64>(d, thread_tile, list, pass);
    }
};

// Appends candidates of the rows and of the columns.
struct AppendBoth : RowThresholds {
    using RowThresholds::RowThresholds;
    static constexpr bool reads_half_norms =
        true;  // the columns' thresholds, which lie after the half norms
    __device__ void apply(const float (&d)[64], const ThreadValues& values, WarpList& list,
                          const FilterPass& pass) {
        thread_tile.column =
            static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column);
        // An earlier pass has compared its rows with these columns. Rows on the diagonal have been
        // compared with each other.
        const int rows_tile = values.query_tile * tile_queries / tile_points,
                  first_tile = static_cast<int>(pass.first) / tile_points;
        const bool columns = rows_tile >= first_tile && rows_tile != first_tile + values.tile;
        // Half norms have room for whole tiles, so the rows past q exist.
        thread_tile.upper_point_threshold =
            columns ? point_threshold(__ldg(pass.half_norm + values.row)) : no_threshold();
        thread_tile.lower_point_threshold =
            columns ? point_threshold(__ldg(pass.half_norm + values.row + 8)) : no_threshold();
        thread_tile.column_threshold =
            reinterpret_cast<const float2*>(values.half_norms + half_norm_bytes);
        append_candidates<64, true>(d, thread_tile, list, pass);
    }
};

// Stores all values.
struct StoreAll : Epilogue {
    static constexpr bool appends = false;
    __device__ StoreAll(const FilterPass&, int) {}
    __device__ void apply(const float (&d)[64], const ThreadValues& values, WarpList&,
                          const FilterPass& pass) {
        store_all<64>(d, pass.all + static_cast<std::int64_t>(values.row) * pass.ld + values.column,
                      pass.ld, values.row < pass.q, values.row + 8 < pass.q);
    }
};

// Counts the certain hits of the rows, and appends the other candidates.
struct CountSure : RowThresholds {
    ThreadCounts counted;
    __device__ CountSure(const FilterPass& pass, int row)
        : RowThresholds(pass, row), counted{no_threshold(), no_threshold()} {
        if (row < pass.q) counted.upper_sure = pass.sure_up_to[row];
        if (row + 8 < pass.q) counted.lower_sure = pass.sure_up_to[row + 8];
    }
    __device__ void apply(const float (&d)[64], const ThreadValues& values, WarpList& list,
                          const FilterPass& pass) {
        thread_tile.column =
            static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column);
        append_candidates<64, false, true>(d, thread_tile, list, pass, &counted);
    }
    // Four lanes have the same rows; rows past q have counted nothing.
    __device__ void end(const FilterPass& pass, int row) {
#pragma unroll
        for (int step = 1; step < 4; step *= 2) {
            counted.upper += __shfl_xor_sync(0xffffffffu, counted.upper, step);
            counted.lower += __shfl_xor_sync(0xffffffffu, counted.lower, step);
        }
        if (threadIdx.x % 4 == 0 && counted.upper > 0)
            atomicAdd(&pass.sure_counts[row], counted.upper);
        if (threadIdx.x % 4 == 1 && counted.lower > 0)
            atomicAdd(&pass.sure_counts[row + 8], counted.lower);
    }
};

template <class Epilogue, int tail>
constexpr FusedKernel* half_kernel =
    fused_sm_90a<Mainloop<Halves, Start::half_norms, AnySteps<tail>>, Epilogue>;
// Indexed by the steps of the last K-tile.
template <class Epilogue>
constexpr std::array half_kernels = {half_kernel<Epilogue, 0>, half_kernel<Epilogue, 1>,
                                     half_kernel<Epilogue, 2>, half_kernel<Epilogue, 3>};

}  // namespace sm90a

void sweeps::fp16_sm90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    const auto& kernels = pass.all                ? half_kernels<StoreAll>
                          : pass.column_threshold ? half_kernels<AppendBoth>
                          : pass.sure_up_to       ? half_kernels<CountSure>
                                                  : half_kernels<AppendRows>;
    launch_pass(kernels.at(static_cast<std::size_t>(schedule.steps % 4)), pass, schedule, stream);
}

}  // namespace kith::gpu
