// See grid_words.h.
#include "papers/kato/grid_words.h"

#include <algorithm>

#include "gpu/filter/direct/direct.h"
#include "gpu/filter/direct/direct_rows.cuh"
#include "gpu/points/prepare_filter.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "metric/hellinger.h"
#include "metric/seuclidean.h"
#include "papers/kato/triangle.h"

namespace kith::gpu {

namespace {

// Sizes of bits are part of the value already: only points with a NaN have a norm, +inf.
__global__ void nan_norms_kernel(const std::uint8_t* nan, std::int64_t n, float* norm) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) norm[i] = nan[i] ? __int_as_float(0x7f800000) : 0.0f;
}

// The words of one side, with its terms.
struct SideWords {
    float *words, *half_norm, *error;
};

void fill_points(const PreparedRows& rows, const FilterForm& form, const SideWords& out,
                 const DeviceMetric& of, cudaStream_t stream) {
    switch (of.spec.id) {
        case MetricId::hellinger:
            return direct_points<metric::Hellinger>(rows, form, out.words, out.half_norm, out.error,
                                                    of.params, stream);
        case MetricId::seuclidean:
            return direct_points<metric::SEuclidean>(rows, form, out.words, out.half_norm,
                                                     out.error, of.params, stream);
        default:
            return of.kernels->filter_points(rows, form, out.words, out.half_norm, out.error,
                                             of.params, stream);
    }
}

void fill_queries(const PreparedRows& rows, const FilterForm& form, float* words, float* error,
                  std::uint8_t* unfit, const DeviceMetric& of, cudaStream_t stream) {
    switch (of.spec.id) {
        case MetricId::hellinger:
            return direct_queries<metric::Hellinger>(rows, form, words, error, unfit, of.params,
                                                     stream);
        case MetricId::seuclidean:
            return direct_queries<metric::SEuclidean>(rows, form, words, error, unfit, of.params,
                                                      stream);
        default:
            return of.kernels->filter_queries(rows, form, words, error, unfit, of.params, stream);
    }
}

void copy(const float* from, std::int64_t count, float* to, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy");
}

}  // namespace

std::optional<exact::DirectForm> grid_form(const DeviceMetric& of, ElementType points) {
    if (!of.kernels) return std::nullopt;
    metric::Traits traits = of.kernels->traits;
    if (maps_coordinates(of.spec.id)) {
        traits.direct = metric::Direct::squares;
        points = ElementType::f64;
    }
    return gpu_direct_form(traits, of.params, points);
}

GridWords::GridWords(const Points& points, const exact::DirectForm& form, const Grids& grids,
                     cudaStream_t stream)
    : grids_(grids),
      padded_(whole_tiles(grids.side)),
      form_(prepare_words_form(form, points.resident.points, points.metric, stream)),
      words_(grids.count() * vector_bytes(form_.form, padded_), stream),
      job_norm_(counts_bits() ? grids.count() * padded_ : padded_, stream),
      sizes_(counts_bits() ? grids.count() * padded_ : 0, stream),
      norm_(grids.n, stream),
      point_error_(grids.n, stream),
      query_error_(grids.n, stream),
      unfit_(grids.n, stream) {
    job_norm_.clear_to(0);
    for (std::int64_t i = 0; i < grids.count(); ++i) fill(points, i, stream);
    if (!counts_bits()) return;
    nan_norms_kernel<<<item_blocks(grids.n), item_threads, 0, stream>>>(
        points.resident.points.nan.get(), grids.n, norm_.get());
    check_launch("nan_norms");
}

const float* GridWords::words(std::int64_t grid) const {
    return reinterpret_cast<const float*>(words_.get() + grid * vector_bytes(form_.form, padded_));
}

const float* GridWords::job_norm(std::int64_t grid) const {
    return job_norm_.get() + (counts_bits() ? grid * padded_ : 0);
}

const float* GridWords::sizes(std::int64_t grid) const {
    return counts_bits() ? sizes_.get() + grid * padded_ : nullptr;
}

// Points and queries have equal words. Those of the queries are made for their terms alone.
void GridWords::fill(const Points& points, std::int64_t grid, cudaStream_t stream) {
    const FilterForm& form = form_.form;
    const std::int64_t first = grids_.first(grid), count = grids_.points(grid);
    const PreparedRows rows = points.resident.points.prepared(first, count);
    const Buffer<char> query_words(vector_bytes(form, count), stream);
    const Buffer<float> half_norm(padded_, stream), error(padded_, stream),
        terms(2 * count, stream);
    auto* const words = reinterpret_cast<float*>(words_.get() + grid * vector_bytes(form, padded_));
    fill_points(
        rows, form,
        {words, counts_bits() ? job_norm_.get() + grid * padded_ : half_norm.get(), error.get()},
        points.metric, stream);
    copy(error.get(), count, point_error_.get() + first, stream);
    if (!counts_bits()) copy(half_norm.get(), count, norm_.get() + first, stream);
    fill_queries(rows, form, reinterpret_cast<float*>(query_words.get()), terms.get(),
                 unfit_.get() + first, points.metric, stream);
    copy(terms.get(), count, query_error_.get() + first, stream);
    if (counts_bits()) copy(terms.get() + count, count, sizes_.get() + grid * padded_, stream);
}

}  // namespace kith::gpu
