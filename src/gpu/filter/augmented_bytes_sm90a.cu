// Augmented vectors of whole numbers of 8 bits; see augmented_sm90a.cuh and bytes.h.
#include "gpu/filter/augmented_sm90a.cuh"
#include "gpu/filter/bytes.h"

namespace kith::gpu {

void augmented_bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    static_assert(byte_terms == term_bytes && most_augmented_bytes == most_resident_steps * 32);
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    const auto& kernels =
        pass.term_planes == 1 ? augmented_kernels<Bytes> : augmented_kernels<Bytes, Start::wide_terms>;
    launch_pass(kernels.at(static_cast<std::size_t>(schedule.steps - 1)), pass, {}, schedule, stream);
}

}  // namespace kith::gpu
