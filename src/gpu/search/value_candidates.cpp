// See value_candidates.h.
#include "gpu/search/value_candidates.h"

#include "gpu/runtime/device.h"

namespace kith::gpu {

bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k) {
    return !form.is_direct() && form.terms == 1 &&
           value_pass_serves(pass.q, pass.n, pass.width, k, device_attributes().multiprocessors);
}

ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists, const ProjectedVectors* projected,
                                 std::int64_t k, cudaStream_t stream) {
    const std::int64_t groups = value_groups(pass.n, device_attributes().multiprocessors), ld = whole_tiles(pass.n);
    ValueCandidates out;
    out.pass = {.queries = pass.queries,
                .points = pass.points,
                .half_norm = pass.half_norm,
                .point_error = lists.point_error,
                .ceiling = lists.ceiling,
                .q = pass.q,
                .n = pass.n,
                .width = pass.width,
                .groups = groups,
                .ld = ld};
    if (projected && k <= most_coarse_k) {
        const Directions& directions = projected->directions;
        out.queries = Buffer<char>(vector_bytes(directions.form, pass.q), stream);
        out.error = Buffer<float>(pass.q, stream);
        project_queries(directions, static_cast<const __half*>(pass.queries), pass.q, out.queries.get(),
                        out.error.get(), stream);
        out.coarse = {.queries = pass.queries,
                      .points = pass.points,
                      .half_norm = pass.half_norm,
                      .point_error = lists.point_error,
                      .width = pass.width,
                      .error = out.error.get(),
                      .step = directions.bytes.step,
                      .pilots = value_pilots(k, groups)};
        out.pass.queries = out.queries.get();
        out.pass.points = projected->vectors.get();
        out.pass.half_norm = projected->half_norm.get();
        out.pass.point_error = nullptr;
        out.pass.bytes = static_cast<bool>(directions.bytes);
        out.pass.width = directions.form.width;
    }
    // In one piece: allocating takes a small search's time.
    const std::int64_t stored = pass.q * ld, least = pass.q * 2 * groups,
                       of_steps = pass.q * groups * out.pass.steps_of_group();
    out.words = Buffer<std::uint32_t>(stored + least + of_steps, stream);
    out.pass.values = out.words.get();
    out.pass.least = out.words.get() + stored;
    out.pass.step_least = out.pass.least + least;
    value_pass(out.pass, stream);
    return out;
}

}  // namespace kith::gpu
