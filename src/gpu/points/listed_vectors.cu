// See listed_vectors.h.
#include "gpu/points/listed_vectors.h"

#include <algorithm>
#include <utility>

#include "gpu/filter/bytes.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/levels.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/projection.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/gather.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

static_assert(tuning::most_listed_dimensions == most_byte_width);

namespace {

// x with x * stride = 1 mod n; both are prime to each other.
std::int64_t inverse(std::int64_t stride, std::int64_t n) {
    std::int64_t a = stride % n, b = n, x = 1, y = 0;
    while (b != 0) {
        const std::int64_t quotient = a / b;
        a = std::exchange(b, a - quotient * b);
        x = std::exchange(y, x - quotient * y);
    }
    return (x % n + n) % n;
}

__global__ void row_positions_kernel(std::int64_t inverse, std::int64_t n, std::int64_t first,
                                     std::int64_t count, std::int64_t* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = (first + i) * inverse % n;
}

// The other way than position_rows() has it: out[i] = the position of row first + i, of n < 2^31.
void row_positions(const FilterForm& form, std::int64_t n, std::int64_t first, std::int64_t count,
                   std::int64_t* out, cudaStream_t stream) {
    row_positions_kernel<<<item_blocks(count), item_threads, 0, stream>>>(inverse(form.stride, n),
                                                                          n, first, count, out);
    check_launch("row_positions");
}

// Of places without a point, as the filter's kernel leaves them.
__global__ void padding_kernel(float* half_norm, float* point_error, std::int64_t count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    half_norm[i] = __int_as_float(0x7f800000);
    point_error[i] = 0;
}
void fill_padding(float* half_norm, float* point_error, std::int64_t count, cudaStream_t stream) {
    if (count == 0) return;
    padding_kernel<<<item_blocks(count), item_threads, 0, stream>>>(half_norm, point_error, count);
    check_launch("padding");
}

}  // namespace

void make_vectors(const DeviceRows& points, const DeviceMetric& metric, const FilterForm& form,
                  const std::int64_t* index, std::int64_t count, void* vectors, float* half_norm,
                  float* point_error, cudaStream_t stream) {
    const std::int64_t d = metric.params.d;
    DeviceRows rows;
    rows.elements =
        Buffer<char>(count * d * static_cast<std::int64_t>(size_of(points.rows.type)), stream);
    gather_rows(points.rows, index, count, d, rows.elements.get(), stream);
    rows.rows = {rows.elements.get(), count, d, 1, points.rows.type};
    measure(rows, metric, stream);
    metric.kernels->filter_points(rows.prepared(), of_queries(form), vectors, half_norm,
                                  point_error, metric.params, stream);
}

namespace {

// Rows of points in host memory one after the other, as the bus likes them best, with what the
// filter keeps of each at their positions.
class RowRuns {
public:
    RowRuns(const MatrixView& source, const DeviceMetric& metric, FilterVectors& filter,
            cudaStream_t stream)
        : source_(source),
          metric_(metric),
          filter_(filter),
          form_(of_queries(filter.form)),
          step_(std::min(source.rows, tuning::listed_rows(filter.form.width))),
          stream_(stream),
          positions_(step_, stream),
          vectors_(vector_bytes(filter.form, step_), stream),
          half_norm_(whole_tiles(step_), stream),
          error_(whole_tiles(step_), stream),
          unknown_(1, stream) {
        unknown_.clear_to(0);
        // As fill_filter() asks of all points.
        if (metric.kernels->traits.gemm == metric::Gemm::dot) form_.unknown = unknown_.get();
        const std::int64_t n = source.rows;
        filter.half_norm = Buffer<float>(whole_tiles(n), stream);
        filter.point_error = Buffer<float>(whole_tiles(n), stream);
        fill_padding(filter.half_norm.get() + n, filter.point_error.get() + n, whole_tiles(n) - n,
                     stream);
    }
    VectorRun run(std::int64_t first, std::int64_t count) {
        DeviceRows rows = upload(source_, first, count, true, stream_);
        measure(rows, metric_, stream_);
        metric_.kernels->filter_points(rows.prepared(), form_, vectors_.get(), half_norm_.get(),
                                       error_.get(), metric_.params, stream_);
        row_positions(filter_.form, source_.rows, first, count, positions_.get(), stream_);
        scatter_dense(half_norm_.get(), positions_.get(), count, sizeof(float),
                      filter_.half_norm.get(), stream_);
        scatter_dense(error_.get(), positions_.get(), count, sizeof(float),
                      filter_.point_error.get(), stream_);
        return {reinterpret_cast<const __half*>(vectors_.get()), half_norm_.get(),
                positions_.get()};
    }
    // Whether all points of products are finite, once all rows have come.
    bool are_finite() const { return form_.unknown && fetched(unknown_, stream_).front() == 0; }

private:
    MatrixView source_;
    const DeviceMetric& metric_;
    FilterVectors& filter_;
    FilterForm form_;
    std::int64_t step_;
    cudaStream_t stream_;
    Buffer<std::int64_t> positions_;
    Buffer<char> vectors_;
    Buffer<float> half_norm_, error_;
    Buffer<int> unknown_;
};

}  // namespace

bool prepare_bytes(const MatrixView& source, Chunk& chunk, const DeviceMetric& metric,
                   cudaStream_t stream, const std::function<void()>& poll) {
    const std::int64_t n = source.rows, sampled = std::min(n, tuning::listed_sample);
    FilterVectors filter = prepare_form(chunk.points, metric, stream);
    RowRuns runs(source, metric, filter, stream);
    {
        const Buffer<std::int64_t> index(sampled, stream);
        position_rows(filter.form, n, 0, sampled, index.get(), stream);
        filter.vectors = Buffer<char>(vector_bytes(filter.form, sampled), stream);
        make_vectors(chunk.points, metric, filter.form, index.get(), sampled, filter.vectors.get(),
                     filter.half_norm.get(), filter.point_error.get(), stream);
    }
    const VectorSource rows = [&](std::int64_t first, std::int64_t count) {
        poll();
        return runs.run(first, count);
    };
    auto found = find_projection(filter, n, {.bytes = true, .always = true, .byte_terms = false},
                                 stream, &rows);
    if (!found) return false;
    filter.form.finite_points = runs.are_finite();
    chunk.filter = std::move(filter);
    chunk.projected = std::make_shared<const ProjectedVectors>(std::move(*found));
    return true;
}

}  // namespace kith::gpu
