// Augmented vectors of whole numbers of 8 bits; see augmented_sm90a.cuh and bytes.h.
#include "gpu/filter/augmented_sm90a.cuh"
#include "gpu/filter/bytes.h"

namespace kith::gpu {

void augmented_bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    static_assert(byte_terms == term_bytes && most_augmented_bytes == most_resident_steps * 32);
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    const bool wide = pass.term_planes == wide_planes;
    FusedKernel* kernel = nullptr;
    if (pass.says_sums) {
        // By K-tiles.
        static constexpr std::array narrow_kernels = {augmented_kernel<Bytes, Start::terms, 4, false, true>,
                                                      augmented_kernel<Bytes, Start::terms, 8, false, true>,
                                                      augmented_kernel<Bytes, Start::terms, 12, false, true>,
                                                      augmented_kernel<Bytes, Start::terms, 16, false, true>};
        static constexpr std::array wide_kernels = {augmented_kernel<Bytes, Start::wide_terms, 4, false, true>,
                                                    augmented_kernel<Bytes, Start::wide_terms, 8, false, true>,
                                                    augmented_kernel<Bytes, Start::wide_terms, 12, false, true>,
                                                    augmented_kernel<Bytes, Start::wide_terms, 16, false, true>};
        kernel = (wide ? wide_kernels : narrow_kernels).at(static_cast<std::size_t>(schedule.k_tiles - 1));
    } else {
        kernel = (wide ? augmented_kernels<Bytes, Start::wide_terms> : augmented_kernels<Bytes>)
                     .at(static_cast<std::size_t>(schedule.steps - 1));
    }
    launch_pass(kernel, pass, {}, schedule, stream);
}

}  // namespace kith::gpu
