// See augmented_pass.h.
#include "gpu/search/augmented_pass.h"

#include "gpu/filter/tuning.h"
#include "gpu/runtime/check.h"

namespace kith::gpu {

bool AugmentedPass::serves(const FilterForm& form, FilterIsa isa, std::int64_t q, std::int64_t n) {
    return isa == FilterIsa::sm_90a && !form.is_direct() && q > few_queries &&
           form.width <= tuning::augmented_width &&
           static_cast<double>(q) * static_cast<double>(n) >= tuning::augmented_pairs;
}

FilterPass AugmentedPass::of(FilterPass pass, const FilterForm& form, float* error,
                             float* threshold) {
    constexpr std::int64_t row_bytes = augmented_terms * 2;
    if (point_terms_.size() == 0) {
        const std::int64_t padded = whole_tiles(pass.n);
        base_error_ = Buffer<float>(pass.q, stream_);
        query_terms_ = Buffer<char>(augmented_query_rows(pass.q) * row_bytes, stream_);
        point_terms_ = Buffer<char>(padded * row_bytes, stream_);
        check(cudaMemcpyAsync(base_error_.get(), error,
                              static_cast<std::size_t>(pass.q) * sizeof(float),
                              cudaMemcpyDeviceToDevice, stream_),
              "cudaMemcpy");
        augment_points(pass.half_norm, padded, point_terms_.get(), stream_);
    }
    augment_queries(pass.q, form.gamma, base_error_.get(), threshold, error, query_terms_.get(),
                    stream_);
    pass.point_terms = point_terms_.get();
    pass.query_terms = query_terms_.get();
    return pass;
}

}  // namespace kith::gpu
