// Augmented vectors of halves, over all tiles or lists of them; see augmented_sm90a.cuh.
#include "gpu/filter/augmented_sm90a.cuh"

namespace kith::gpu {

void augmented_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    const auto& kernels =
        pass.tiles ? augmented_kernels<Halves, Start::terms, true> : augmented_kernels<Halves>;
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors,
                                                appends_by_exchange(pass.tiles != nullptr));
    launch_pass(kernels.at(static_cast<std::size_t>(schedule.steps - 1)), pass, {}, schedule,
                stream);
}

}  // namespace kith::gpu
