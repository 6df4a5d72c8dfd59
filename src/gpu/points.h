// Points on a device: the elements and what a search needs of each point once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/backend.h"
#include "gpu/metric_kernels.h"
#include "gpu/workspace.h"

namespace kith::gpu {

// Rows copied to (or lying on) the device, with auxiliary values and NaN flags.
struct DeviceRows {
    Rows rows;
    Buffer<char> elements;  // empty where the rows are the caller's
    Buffer<double> aux;
    Buffer<std::uint8_t> nan;
    PreparedRows prepared() const { return {rows, aux.get(), nan.get()}; }
};

// What the filter knows of points, by position (see FilterForm::stride).
struct FilterVectors {
    FilterForm form;  // gemm none: no filter
    Buffer<float> centre;
    Buffer<__half> vectors;  // rows x form.width
    Buffer<float> h, f;      // what a starts from, and the bound's term per point
};

// A run of points that a search handles at once: all of them, or a chunk that streams.
struct Chunk {
    std::int64_t first = 0;
    DeviceRows points;
    FilterVectors filter;
    // Two terms of fp16, made when data first prove to be closer together than one term can tell apart.
    struct Finer {
        std::mutex mutex;
        std::unique_ptr<FilterVectors> made;
    };
    std::shared_ptr<Finer> finer = std::make_shared<Finer>();
};

// The metric with its constants on the device.
struct DeviceMetric {
    MetricSpec spec;
    metric::Params params;  // .constants on the device, a matrix transposed
    Buffer<double> constants;
    Buffer<double> factors;  // what `factor` points into, where the metric has one and is filtered
    FactorForm factor;
    const MetricKernels* kernels = nullptr;  // null: a user's metric
};

class Points {
public:
    int device = 0;
    std::int64_t n = 0, d = 0;
    DeviceMetric metric;
    MatrixView source;             // what streams, or the caller's or own device memory
    std::vector<std::byte> owned;  // copies of points that stream: from the host,
    DeviceRows owned_on_device;    // and of more points on a device than a chunk may have
    Chunk resident;                // where everything fits
    bool streams = false;
};

// Rows [first, first + count) of a view to the device; rows that lie there already are not copied unless `own`. `stop`:
// see copy_to_device.
DeviceRows upload(const MatrixView& view, std::int64_t first, std::int64_t count, bool own, cudaStream_t stream,
                  const std::atomic<bool>* stop = nullptr);
// Their auxiliary values and NaN flags.
void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream);
// Vectors of the filter, in one or two terms. Synchronises for centre and scale.
FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, int terms, cudaStream_t stream);
// Those in two terms, made at the first call; safe from several threads.
const FilterVectors& finer_filter(const Chunk& chunk, const DeviceMetric& metric);

}  // namespace kith::gpu
