// The direct filter's kernels: a step for each form (direct_steps.cuh), in the tiles of
// direct_tile.cuh.
#include "gpu/filter/direct.h"
#include "gpu/filter/direct_steps.cuh"
#include "gpu/filter/direct_tile.cuh"
#include "gpu/filter/sure_pairs.h"
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
void launch(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream) {
    const int blocks = S::blocks * device_attributes().multiprocessors;
    const Schedule schedule = make_schedule(pass, tile, slice, blocks);
    const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles));
    if (sure.up_to && !pass.all) {
        check(cudaFuncSetAttribute(counting_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   counting_bytes),
              "cudaFuncSetAttribute");
        counting_kernel<S>
            <<<grid, threads, counting_bytes, stream>>>(pass, schedule, {sure.up_to, sure.counts});
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

void direct_pass(const FilterPass& pass, cudaStream_t stream) {
    direct_pass_counting(pass, {}, stream);
}

void direct_pass_counting(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream) {
    using exact::Step;
    switch (pass.step) {
        case Step::dot:
            break;
        case Step::cityblock:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteDifferencesStep>(pass, sure, stream);
            return direct::launch<direct::NormStep<steps::Cityblock>>(pass, sure, stream);
        case Step::chebyshev:
            if (pass.coordinates == exact::Coordinates::rounded_halves)
                return direct::launch<direct::HalvesStep>(pass, sure, stream);
            return direct::launch<direct::NormStep<steps::Chebyshev>>(pass, sure, stream);
        case Step::squares:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteSquaresStep>(pass, sure, stream);
            return direct::launch<direct::NormStep<steps::Squares>>(pass, sure, stream);
        case Step::cubes:
            return direct::launch<direct::NormStep<steps::Cubes>>(pass, sure, stream);
        case Step::fourths:
            return direct::launch<direct::NormStep<steps::Fourths>>(pass, sure, stream);
        case Step::powers:
            return direct::launch<direct::NormStep<steps::Powers>>(pass, sure, stream);
        case Step::quotients:
            return direct::launch<direct::QuotientsStep>(pass, sure, stream);
        case Step::quotient:
            return direct::launch<direct::QuotientStep>(pass, sure, stream);
        case Step::mismatches:
            return direct::launch<direct::MismatchStep>(pass, sure, stream);
        case Step::mismatched_bytes:
            return direct::launch<direct::ByteStep>(pass, sure, stream);
        case Step::divergence:
            return direct::launch<direct::DivergenceStep>(pass, sure, stream);
        case Step::logarithms:
            return direct::launch<direct::LogarithmStep>(pass, sure, stream);
        case Step::jaccard_sets:
            break;
        case Step::mismatched_bits:
        case Step::jaccard_bits:
        case Step::dice_bits:
        case Step::unmatched_bits:
            return bits_pass(pass, stream);
    }
}

}  // namespace kith::gpu
