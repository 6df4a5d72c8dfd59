// Augmented vectors of whole numbers of 8 bits; see augmented_sm90a.cuh and bytes.h.
#include "gpu/filter/augmented_sm90a.cuh"
#include "gpu/filter/bytes.h"

namespace kith::gpu {

namespace sm90a {

// Those whose candidates say their sums, by K-tiles, less one.
template <Start start, bool listed>
constexpr auto saying_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<FusedKernel*, sizeof...(i)>{
        augmented_kernel<Bytes, start, 4 * (i + 1), listed, true>...};
}
(std::make_integer_sequence<int, max_resident>{});

}  // namespace sm90a

void augmented_bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    using namespace sm90a;
    static_assert(byte_terms == term_bytes && most_augmented_bytes == most_resident_steps * 32);
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors,
                                                appends_by_exchange(pass.tiles != nullptr));
    const bool wide = pass.term_planes == wide_planes;
    const auto& saying =
        pass.tiles
            ? (wide ? saying_kernels<Start::wide_terms, true> : saying_kernels<Start::terms, true>)
            : (wide ? saying_kernels<Start::wide_terms, false>
                    : saying_kernels<Start::terms, false>);
    const auto& silent =
        wide ? augmented_kernels<Bytes, Start::wide_terms> : augmented_kernels<Bytes>;
    FusedKernel* const kernel = pass.says_sums
                                    ? saying.at(static_cast<std::size_t>(schedule.k_tiles - 1))
                                    : silent.at(static_cast<std::size_t>(schedule.steps - 1));
    launch_pass(kernel, pass, {}, schedule, stream);
}

}  // namespace kith::gpu
