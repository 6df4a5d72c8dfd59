// The matrix of all canonical distances (backend.h, distances): tiles of keys, as the full scan
// makes them, reported and copied to the caller's rows.
#include <algorithm>

#include "gpu/backend.h"
#include "gpu/metric/user.h"
#include "gpu/points/chunk_stream.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/search/deliver.h"

namespace kith::gpu {

namespace {

// Sets the values (q x n) of queries or points with a NaN coordinate to NaN: their keys mark
// missing neighbours.
template <class T>
__global__ void nan_values_kernel(const std::uint8_t* query_nan, const std::uint8_t* point_nan,
                                  std::int64_t q, std::int64_t n, T* values) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q * n) return;
    if (query_nan[i / n] | point_nan[i % n])
        values[i] = static_cast<T>(bits_to_double(0x7ff8000000000000ULL));
}

class Matrix {
public:
    Matrix(const Points& points, const DistancesRequest& request, cudaStream_t stream)
        : points_(points), request_(request), stream_(stream), element_(request.f64 ? 8 : 4) {}

    // Columns of a chunk's points, of all queries. The plan's tiles are the full scan's, whose
    // selection is not used here. Half of them each way leaves room for the values in addition to
    // the keys.
    void columns(const Chunk& chunk) {
        const std::int64_t q = request_.queries.rows,
                           queries =
                               std::min(std::max<std::int64_t>(1, request_.plan.query_tile / 2), q);
        for (std::int64_t first = 0; first < q; first += queries) {
            tile(chunk, first, std::min(queries, q - first));
            request_.progress.poll("distances");
            request_.progress.throw_if_cancelled();
        }
    }

private:
    void tile(const Chunk& chunk, std::int64_t first, std::int64_t q) {
        const DeviceMetric& metric = points_.metric;
        const std::int64_t n = chunk.points.rows.count, d = points_.d,
                           width =
                               std::min(std::max<std::int64_t>(1, request_.plan.point_tile / 2), n);
        DeviceRows queries = upload(request_.queries, first, q, false, stream_);
        measure(queries, metric, stream_);
        Buffer<double> query_values(q * d, stream_), point_values(width * d, stream_);
        Buffer<std::uint64_t> keys(q * width, stream_);
        Buffer<char> values(q * width * element_, stream_);
        convert(queries.prepared(), query_values.get());
        for (std::int64_t x = 0; x < n; x += width) {
            const std::int64_t count = std::min(width, n - x);
            const PreparedRows columns = chunk.points.prepared(x, count);
            convert(columns, point_values.get());
            const ScanTile scan{query_values.get(),
                                point_values.get(),
                                queries.aux.get(),
                                columns.aux,
                                queries.nan.get(),
                                columns.nan,
                                q,
                                count,
                                x,
                                nullptr,
                                keys.get(),
                                count};
            if (metric.kernels) metric.kernels->scan(scan, metric.params, stream_);
            else user_scan(scan, metric.spec, stream_);
            if (request_.f64)
                report(keys.get(), queries, columns, q, count,
                       reinterpret_cast<double*>(values.get()));
            else
                report(keys.get(), queries, columns, q, count,
                       reinterpret_cast<float*>(values.get()));
            char* const to = static_cast<char*>(request_.out.data) +
                             (first * request_.out.stride + chunk.first + x) * element_;
            copy_rows(values.get(), q, count, to);
            request_.progress.add(static_cast<double>(q) * static_cast<double>(count));
        }
        check(cudaStreamSynchronize(stream_), "distances");
    }
    void convert(const PreparedRows& rows, double* to) {
        const DeviceMetric& metric = points_.metric;
        if (metric.kernels) metric.kernels->convert(rows, to, metric.params, stream_);
        else user_convert(rows.rows, to, points_.d, stream_);
    }
    template <class T>
    void report(const std::uint64_t* keys, const DeviceRows& queries, const PreparedRows& columns,
                std::int64_t q, std::int64_t n, T* to) {
        const DeviceMetric& metric = points_.metric;
        report_distances(metric, keys, request_.f64, to, q * n, stream_);
        nan_values_kernel<<<item_blocks(q * n), item_threads, 0, stream_>>>(queries.nan.get(),
                                                                            columns.nan, q, n, to);
        check_launch("nan_values");
    }
    // Dense rows of `count` values to rows of the caller's.
    void copy_rows(const char* from, std::int64_t q, std::int64_t count, char* to) {
        constexpr std::int64_t most_pitch = 0x7fffffff;  // that a copy of rows takes
        const std::int64_t pitch = request_.out.stride * element_;
        if (pitch <= most_pitch) {
            check(
                cudaMemcpy2DAsync(to, bytes(request_.out.stride), from, bytes(count), bytes(count),
                                  static_cast<std::size_t>(q), cudaMemcpyDefault, stream_),
                "copy of the distances");
            return;
        }
        for (std::int64_t i = 0; i < q; ++i)
            check(cudaMemcpyAsync(to + i * pitch, from + i * count * element_, bytes(count),
                                  cudaMemcpyDefault, stream_),
                  "copy of the distances");
    }
    std::size_t bytes(std::int64_t elements) const {
        return static_cast<std::size_t>(elements * element_);
    }

    const Points& points_;
    const DistancesRequest& request_;
    cudaStream_t stream_;
    std::int64_t element_;
};

}  // namespace

void distances(const Points& points, const DistancesRequest& request) {
    const DeviceScope scope(points.device);
    const auto stream = static_cast<cudaStream_t>(request.stream);
    CallMemory call(points.device, stream);
    Matrix matrix(points, request, stream);
    if (points.streams) {
        const Learned learned;
        ChunkStream chunks(points, request.plan, learned, request.progress, stream);
        while (const Chunk* chunk = chunks.next()) matrix.columns(*chunk);
    } else {
        matrix.columns(points.resident);
    }
    call.wait("distances");
}

}  // namespace kith::gpu
