// See listed_vectors.h.
#include "gpu/points/listed_vectors.h"

#include <algorithm>

#include "gpu/filter/bytes.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/levels.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/projection.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/gather.h"

namespace kith::gpu {

static_assert(tuning::most_listed_dimensions == most_byte_width);

void make_vectors(const DeviceRows& points, const DeviceMetric& metric, const FilterForm& form,
                  const std::int64_t* index, std::int64_t count, void* vectors, float* half_norm, float* point_error,
                  cudaStream_t stream) {
    const std::int64_t d = metric.params.d;
    DeviceRows rows;
    rows.elements = Buffer<char>(count * d * static_cast<std::int64_t>(size_of(points.rows.type)), stream);
    gather_rows(points.rows, index, count, d, rows.elements.get(), stream);
    rows.rows = {rows.elements.get(), count, d, 1, points.rows.type};
    measure(rows, metric, stream);
    metric.kernels->filter_points(rows.prepared(), of_queries(form), vectors, half_norm, point_error, metric.params,
                                  stream);
}

bool prepare_bytes(Chunk& chunk, const DeviceMetric& metric, cudaStream_t stream, const std::function<void()>& poll) {
    const std::int64_t n = chunk.points.rows.count;
    FilterVectors filter = prepare_form(chunk.points, metric, stream);
    filter.half_norm = Buffer<float>(whole_tiles(n), stream);
    filter.point_error = Buffer<float>(whole_tiles(n), stream);
    const std::int64_t step = tuning::listed_rows(filter.form.width);
    const Buffer<std::int64_t> index(step, stream);
    // As fill_filter() asks of all points.
    Buffer<int> unknown(1, stream);
    unknown.clear_to(0);
    const bool products = metric.kernels->traits.gemm == metric::Gemm::dot;
    FilterForm form = filter.form;
    if (products) form.unknown = unknown.get();
    const auto make = [&](std::int64_t first, std::int64_t count, void* vectors) {
        poll();
        position_rows(filter.form, n, first, count, index.get(), stream);
        make_vectors(chunk.points, metric, form, index.get(), count, vectors, filter.half_norm.get() + first,
                     filter.point_error.get() + first, stream);
    };
    const std::int64_t sampled = std::min(n, tuning::listed_sample);
    filter.vectors = Buffer<char>(vector_bytes(filter.form, sampled), stream);
    make(0, sampled, filter.vectors.get());
    const Buffer<char> some(vector_bytes(filter.form, step), stream);
    const VectorSource source = [&](std::int64_t first, std::int64_t count) {
        make(first, count, some.get());
        return reinterpret_cast<const __half*>(some.get());
    };
    auto found = find_projection(filter, n, {.bytes = true, .always = true, .byte_terms = false}, stream, &source);
    if (!found) return false;
    filter.form.finite_points = products && fetched(unknown, stream).front() == 0;
    chunk.filter = std::move(filter);
    chunk.projected = std::make_shared<const ProjectedVectors>(std::move(*found));
    return true;
}

}  // namespace kith::gpu
