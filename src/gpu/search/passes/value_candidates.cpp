// See value_candidates.h.
#include "gpu/search/passes/value_candidates.h"

#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace {

// The words of an array, padded so that the next one is aligned to 16 bytes.
constexpr std::int64_t whole_words(std::int64_t words) {
    return (words + 3) / 4 * 4;
}

}  // namespace

bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k) {
    return !form.is_direct() && form.terms == 1 &&
           value_pass_serves(pass.q, pass.n, pass.width, k, device_attributes().multiprocessors);
}

ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists,
                                 const ProjectedVectors* projected, std::int64_t k,
                                 cudaStream_t stream) {
    const std::int64_t groups = value_groups(pass.n, device_attributes().multiprocessors),
                       ld = whole_tiles(pass.n);
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
    const auto* const vectors = static_cast<const __half*>(pass.queries);
    const bool rounds = projected && rounds_queries(projected->directions, pass.q);
    QueryRounding rounding;
    // One allocation: several would dominate a small search.
    const std::int64_t stored = pass.q * ld, least = pass.q * 2 * groups,
                       of_steps = pass.q * groups * values.steps_of_group(),
                       error = whole_words(pass.q),
                       queries = projected && !rounds
                                     ? vector_bytes(projected->directions.form, pass.q) / 4
                                     : 0;
    ValueCandidates out;
    out.words = Buffer<std::uint32_t>(queries + error + stored + least + of_steps, stream);
    std::uint32_t* const own_queries = out.words.get();
    auto* const own_error = reinterpret_cast<float*>(own_queries + queries);
    values.values = own_queries + queries + error;
    values.least = values.values + stored;
    values.step_least = values.least + least;
    if (projected) {
        const Directions& directions = projected->directions;
        if (rounds) rounding = {vectors, directions, own_error};
        else project_queries(directions, vectors, pass.q, own_queries, own_error, {}, stream);
        const ValuePilots pilots(k, groups);
        out.coarse = {.queries = pass.queries,
                      .points = pass.points,
                      .half_norm = pass.half_norm,
                      .point_error = lists.point_error,
                      .width = pass.width,
                      .error = own_error,
                      .step = directions.bytes.step,
                      .pilots = pilots.all,
                      .pilots_of_warp = pilots.of_warp};
        values.queries = rounds ? nullptr : own_queries;
        values.points = projected->vectors.get();
        values.half_norm = projected->half_norm.get();
        values.point_error = nullptr;
        values.bytes = static_cast<bool>(directions.bytes);
        values.width = directions.form.width;
    }
    out.pass = values;
    value_pass(values, stream, rounding);
    return out;
}

}  // namespace kith::gpu
