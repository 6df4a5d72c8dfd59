// See value_candidates.h.
#include "gpu/search/value_candidates.h"

#include "gpu/runtime/device.h"

namespace kith::gpu {

bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k) {
    return !form.is_direct() && form.terms == 1 &&
           value_pass_serves(pass.q, pass.n, pass.width, k, device_attributes().multiprocessors);
}

ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists, cudaStream_t stream) {
    const std::int64_t groups = value_groups(pass.n, device_attributes().multiprocessors), ld = whole_tiles(pass.n);
    ValueCandidates out;
    out.values = Buffer<float>(pass.q * ld, stream);
    out.least = Buffer<std::uint32_t>(pass.q * 2 * groups, stream);
    out.pass = {.queries = pass.queries,
                .points = pass.points,
                .half_norm = pass.half_norm,
                .point_error = lists.point_error,
                .ceiling = lists.ceiling,
                .q = pass.q,
                .n = pass.n,
                .width = pass.width,
                .groups = groups,
                .values = out.values.get(),
                .ld = ld,
                .least = out.least.get()};
    out.step_least = Buffer<std::uint32_t>(pass.q * groups * out.pass.steps_of_group(), stream);
    out.pass.step_least = out.step_least.get();
    value_pass(out.pass, stream);
    return out;
}

}  // namespace kith::gpu
