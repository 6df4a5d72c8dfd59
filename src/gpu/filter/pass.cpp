// The filter that a pass names: the direct one, or the fused one in the instructions that the plan
// names.
#include "gpu/filter/pass.h"

#include "gpu/filter/direct.h"
#include "gpu/filter/sure_pairs.h"
#include "kith/error.h"

namespace kith::gpu {

void filter_pass(const FilterPass& pass, FilterIsa isa, cudaStream_t stream) {
    if (pass.column_threshold && isa != FilterIsa::sm_90a)
        throw Error(ErrorCode::invalid_argument, "plan: symmetric, which needs isa sm_90a");
    if (pass.step != exact::Step::dot) direct_pass(pass, stream);
    else if (isa == FilterIsa::sm_90a) filter_pass_sm_90a(pass, stream);
    else filter_pass_sm_80(pass, stream);
}

void filter_pass_counting(const FilterPass& pass, const SurePairs& sure, FilterIsa isa,
                          cudaStream_t stream) {
    if (pass.step != exact::Step::dot) direct_pass_counting(pass, sure, stream);
    else if (isa == FilterIsa::sm_90a) filter_pass_counting_sm_90a(pass, sure, stream);
    else filter_pass_sm_80(pass, stream);
}

}  // namespace kith::gpu
