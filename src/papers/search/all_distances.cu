// All distances as a distance kernel estimates them (papers/gpu.h, distances): its f32 values as
// keys, some queries at a time. A thread owns a value, or a row's flag.
#include <algorithm>
#include <cmath>

#include "exact/order.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/metric/kernels.h"
#include "gpu/points/chunk_stream.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/search/key_rows.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded.h"
#include "papers/gpu.h"

namespace kith::gpu {

namespace {

// Keys of f32 values of words that were scaled. f32's largest number is a sum that overflowed; the
// expanded form may be negative for near rows.
__global__ void keys_kernel(const float* values, std::int64_t count, double unscale,
                            std::uint64_t* keys) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const float value = values[i];
    const double key = value < largest_f32 ? static_cast<double>(fmaxf(value, 0.0f)) * unscale
                                           : bits_to_double(0x7ff0000000000000ULL);
    keys[i] = exact::Order<double>::key(key);
}

// Points without a value: those with a NaN, and those that their words do not hold.
__global__ void flags_kernel(const std::uint8_t* nan, const float* half_norm, std::int64_t n,
                             std::uint8_t* flags) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) flags[i] = nan[i] != 0 || half_norm[i] < -largest_f32;
}

// Squares of points, of half norms that a share of the bound lowered.
__global__ void squares_kernel(const float* half_norm, const float* point_error, std::int64_t n,
                               float* squares) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) squares[i] = half_norm[i] + point_error[i];
}

class Estimates {
public:
    Estimates(const Points& points, const DistancesRequest& request, cudaStream_t stream)
        : points_(points),
          metric_(points.metric),
          request_(request),
          kernel_(find_distance_kernel(request.plan.distances)),
          stream_(stream) {}

    // Columns of a chunk's points, of all queries.
    void columns(const Chunk& chunk) {
        words_ = prepare_words(chunk.points, metric_, stream_);
        first_point_ = chunk.first;
        n_ = chunk.points.rows.count;
        flags_ = Buffer<std::uint8_t>(n_, stream_);
        nan_ = chunk.points.nan.get();
        // Values of points start from 0. The number of a point's bits is no share of the bound.
        norms_ = Buffer<float>(whole_tiles(n_), stream_);
        norms_.clear_to(0);
        mark(words_.half_norm.get());
        const std::int64_t q = request_.queries.rows, step = request_.plan.query_tile;
        for (std::int64_t first = 0; first < q; first += step) {
            tile(first, std::min(step, q - first));
            request_.progress.poll("distances");
            request_.progress.throw_if_cancelled();
        }
    }

private:
    bool counts_bits() const { return exact::counts_bits(words_.form.direct.step); }
    void mark(const float* half_norm) {
        flags_kernel<<<item_blocks(n_), item_threads, 0, stream_>>>(nan_, half_norm, n_,
                                                                    flags_.get());
        check_launch("flags");
    }
    // The terms of the expanded form, without the bound's shares.
    ExpandedTerms expanded(const float* queries, std::int64_t q, const float* query_error,
                           std::uint8_t* unfit) {
        ExpandedTerms terms =
            expanded_terms({.queries = queries,
                            .points = reinterpret_cast<const float*>(words_.vectors.get()),
                            .width = words_.form.width,
                            .q = q,
                            .n = n_,
                            .half_norm = words_.half_norm.get(),
                            .point_error = words_.point_error.get(),
                            .query_error = query_error,
                            .unfit = unfit},
                           stream_);
        mark(terms.half_norm.get());
        squares_kernel<<<item_blocks(n_), item_threads, 0, stream_>>>(
            terms.half_norm.get(), terms.point_error.get(), n_, norms_.get());
        check_launch("squares");
        return terms;
    }

    void tile(std::int64_t first, std::int64_t q) {
        const FilterForm& form = words_.form;
        DeviceRows queries = upload(request_.queries, first, q, false, stream_);
        measure(queries, metric_, stream_);
        const Buffer<char> vectors(vector_bytes(form, q), stream_);
        const Buffer<float> error(2 * q, stream_);  // followed by the queries' own terms
        const Buffer<std::uint8_t> unfit(q, stream_);
        metric_.kernels->filter_queries(queries.prepared(), form, vectors.get(), error.get(),
                                        unfit.get(), metric_.params, stream_);
        DistanceJob job{.step = form.direct.step,
                        .exponent = form.direct.exponent,
                        .queries = reinterpret_cast<const float*>(vectors.get()),
                        .points = reinterpret_cast<const float*>(words_.vectors.get()),
                        .half_norm = counts_bits() ? words_.half_norm.get() : norms_.get(),
                        .query_size = error.get() + q,
                        .width = form.width,
                        .n = n_,
                        .stream = stream_};
        ExpandedTerms terms;
        if (kernel_->expanded()) {
            terms = expanded(job.queries, q, error.get(), unfit.get());
            job.query_square = terms.query_square.get();
        }
        const std::int64_t at_once = std::min(request_.plan.matrix_queries, q);
        Buffer<float> values(at_once * n_, stream_);
        Buffer<std::uint64_t> keys(at_once * n_, stream_);
        job.values = values.get();
        // The key of scaled words has that power of the scale.
        const double unscale = std::pow(form.scale, -form.direct.degree);
        for (std::int64_t at = 0; at < q; at += at_once) {
            job.first_query = at;
            job.q = std::min(at_once, q - at);
            const std::int64_t pairs = job.q * n_;
            distance_matrix(kernel_->name, job);
            keys_kernel<<<item_blocks(pairs), item_threads, 0, stream_>>>(values.get(), pairs,
                                                                          unscale, keys.get());
            check_launch("keys");
            deliver_keys(metric_,
                         {.keys = keys.get(),
                          .query_nan = unfit.get() + at,
                          .point_nan = flags_.get(),
                          .q = job.q,
                          .n = n_,
                          .first_query = first + at,
                          .first_point = first_point_},
                         request_, reinterpret_cast<char*>(values.get()), stream_);
            request_.progress.add(static_cast<double>(pairs));
        }
        check(cudaStreamSynchronize(stream_), "distances");
    }

    const Points& points_;
    const DeviceMetric& metric_;
    const DistancesRequest& request_;
    const DistanceKernel* kernel_;
    cudaStream_t stream_;
    std::int64_t first_point_ = 0, n_ = 0;
    FilterVectors words_;
    const std::uint8_t* nan_ = nullptr;
    Buffer<std::uint8_t> flags_;
    Buffer<float> norms_;
};

}  // namespace

}  // namespace kith::gpu

void kith::papers::distances(const gpu::Points& points, const DistancesRequest& request) {
    using namespace gpu;
    const DeviceScope scope(points.device);
    const auto stream = static_cast<cudaStream_t>(request.stream);
    CallMemory call(points.device, stream);
    if (points.streams) {
        const Learned learned;
        ChunkStream chunks(points, request.plan, learned, request.progress, stream);
        while (const Chunk* chunk = chunks.next())
            Estimates(points, request, stream).columns(*chunk);
    } else {
        Estimates(points, request, stream).columns(points.resident);
    }
    call.wait("distances");
}
