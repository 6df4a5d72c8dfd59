// The kernels that sweep() launches, one a family: see pass.h.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu::sweeps {

void fp16_sm80(const FilterPass& pass, cudaStream_t stream);
void fp16_sm90a(const FilterPass& pass, cudaStream_t stream);
void fp16_biased_sm90a(const FilterPass& pass, cudaStream_t stream);
void int8_sm90a(const FilterPass& pass, cudaStream_t stream);
void int8_biased_sm90a(const FilterPass& pass, cudaStream_t stream);
void words(const FilterPass& pass, cudaStream_t stream);
// Steps that count bits (exact::counts_bits). Half norms of points are their sizes, how many bits
// are set, and tie_share; +inf as elsewhere.
void bits(const FilterPass& pass, cudaStream_t stream);
void formula(const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu::sweeps
