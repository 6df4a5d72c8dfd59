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
    ValuePass values{.queries = pass.queries,
                     .points = pass.points,
                     .half_norm = pass.half_norm,
                     .point_error = lists.point_error,
                     .ceiling = lists.ceiling,
                     .q = pass.q,
                     .n = pass.n,
                     .width = pass.width,
                     .groups = groups,
                     .ld = ld};
    // In one piece: allocating takes a small search's time.
    const std::int64_t stored = pass.q * ld, least = pass.q * 2 * groups,
                       of_steps = pass.q * groups * values.steps_of_group();
    Buffer<std::uint32_t> words(stored + least + of_steps, stream);
    values.values = reinterpret_cast<float*>(words.get());
    values.least = words.get() + stored;
    values.step_least = values.least + least;
    value_pass(values, stream);
    return {std::move(words), values};
}

}  // namespace kith::gpu
