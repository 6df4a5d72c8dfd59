// The kernel of a sweep, by its operands.
#include "gpu/filter/pass.h"

#include "gpu/filter/sweeps.h"
#include "kith/error.h"

namespace kith::gpu {

void sweep(const FilterPass& pass, FilterIsa isa, cudaStream_t stream) {
    if (pass.column_threshold && isa != FilterIsa::sm_90a)
        throw Error(ErrorCode::invalid_argument, "plan: symmetric, which needs isa sm_90a");
    const bool reads_tiles =
        pass.format == Format::int8 ? pass.says_sums : pass.point_terms != nullptr;
    if (pass.tiles && !reads_tiles)
        throw Error(ErrorCode::invalid_argument,
                    "plan: lists of tiles, which no kernel here reads");
    if (pass.formula) return sweeps::formula(pass, stream);
    if (pass.step != exact::Step::dot) return sweeps::words(pass, stream);
    if (pass.format == Format::int8)
        return pass.point_terms ? sweeps::int8_biased_sm90a(pass, stream)
                                : sweeps::int8_sm90a(pass, stream);
    if (isa != FilterIsa::sm_90a) return sweeps::fp16_sm80(pass, stream);
    return pass.point_terms ? sweeps::fp16_biased_sm90a(pass, stream)
                            : sweeps::fp16_sm90a(pass, stream);
}

}  // namespace kith::gpu
