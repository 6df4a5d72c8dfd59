// The direct filter's kernels: a step for each form (direct_steps.cuh), in the tiles of
// direct_tile.cuh.
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/direct/direct_steps.cuh"
#include "gpu/filter/direct/direct_tile.cuh"
#include "gpu/filter/sweeps.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace direct {
namespace {

using exact::Step;

static_assert(tile == filter_tile_queries && filter_tile_points % tile == 0);

template <class S, bool All>
__global__ void __launch_bounds__(threads, S::blocks)
    direct_kernel(const __grid_constant__ FilterPass pass,
                  const __grid_constant__ Schedule schedule) {
    run_tiles<S, All>(pass, schedule);
}

struct SureCounted {
    static constexpr bool counts = true;
    const float* up_to;
    std::int32_t* counts_of;
};
constexpr int counting_bytes = shared_bytes + static_cast<int>(sizeof(TileCounts));

template <class S>
__global__ void __launch_bounds__(threads, S::blocks)
    counting_kernel(const __grid_constant__ FilterPass pass,
                    const __grid_constant__ Schedule schedule, const SureCounted sure) {
    run_tiles<S, false>(pass, schedule, sure);
}

template <class S>
void launch(const FilterPass& pass, cudaStream_t stream) {
    const int blocks = S::blocks * device_attributes().multiprocessors;
    const Schedule schedule = make_schedule(pass, tile, slice, blocks);
    const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles));
    if (pass.sure_up_to && !pass.all) {
        check(cudaFuncSetAttribute(counting_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   counting_bytes),
              "cudaFuncSetAttribute");
        counting_kernel<S><<<grid, threads, counting_bytes, stream>>>(
            pass, schedule, {pass.sure_up_to, pass.sure_counts});
        check_launch("direct filter");
        return;
    }
    auto* const kernel = pass.all ? direct_kernel<S, true> : direct_kernel<S, false>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "cudaFuncSetAttribute");
    kernel<<<grid, threads, shared_bytes, stream>>>(pass, schedule);
    check_launch("direct filter");
}

}  // namespace
}  // namespace direct

void sweeps::words(const FilterPass& pass, cudaStream_t stream) {
    using exact::Step;
    switch (pass.step) {
        case Step::dot:
            break;
        case Step::cityblock:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteDifferencesStep>(pass, stream);
            return direct::launch<direct::NormStep<steps::Cityblock>>(pass, stream);
        case Step::chebyshev:
            if (pass.coordinates == exact::Coordinates::rounded_halves)
                return direct::launch<direct::HalvesStep>(pass, stream);
            return direct::launch<direct::NormStep<steps::Chebyshev>>(pass, stream);
        case Step::squares:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteSquaresStep>(pass, stream);
            return direct::launch<direct::NormStep<steps::Squares>>(pass, stream);
        case Step::cubes:
            return direct::launch<direct::NormStep<steps::Cubes>>(pass, stream);
        case Step::fourths:
            return direct::launch<direct::NormStep<steps::Fourths>>(pass, stream);
        case Step::powers:
            return direct::launch<direct::NormStep<steps::Powers>>(pass, stream);
        case Step::quotients:
            return direct::launch<direct::QuotientsStep>(pass, stream);
        case Step::quotient:
            return direct::launch<direct::QuotientStep>(pass, stream);
        case Step::mismatches:
            return direct::launch<direct::MismatchStep>(pass, stream);
        case Step::mismatched_bytes:
            return direct::launch<direct::ByteStep>(pass, stream);
        case Step::divergence:
            return direct::launch<direct::DivergenceStep>(pass, stream);
        case Step::logarithms:
            return direct::launch<direct::LogarithmStep>(pass, stream);
        case Step::jaccard_sets:
            break;
        case Step::mismatched_bits:
        case Step::jaccard_bits:
        case Step::dice_bits:
        case Step::unmatched_bits:
            return bits(pass, stream);
    }
}

}  // namespace kith::gpu
