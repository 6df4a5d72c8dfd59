// The fused filter in the instructions that the plan names.
#include "gpu/filter/pass.h"

namespace kith::gpu {

void filter_pass(const FilterPass& pass, FilterIsa isa, cudaStream_t stream) {
    if (isa == FilterIsa::sm_90a) filter_pass_sm_90a(pass, stream);
    else filter_pass_sm_80(pass, stream);
}

}  // namespace kith::gpu
