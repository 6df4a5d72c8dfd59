// Rows of a sample of the points, on the host, and other device values that determine a filter's
// form.
#pragma once

#include <vector>

#include "gpu/points/points.h"

namespace kith::gpu {

// A copy on the host. Waits for the stream.
template <class T>
std::vector<T> fetched(const Buffer<T>& from, cudaStream_t stream) {
    std::vector<T> out(static_cast<std::size_t>(from.size()));
    InFlight copy(stream);
    check(
        cudaMemcpyAsync(out.data(), from.get(), out.size() * sizeof(T), cudaMemcpyDefault, stream),
        "cudaMemcpy");
    copy.wait("sample");
    return out;
}

// Evenly spaced rows in the filter's form, samples x d.
inline std::vector<double> sample_of(const DeviceRows& points, const MetricKernels& kernels,
                                     const FilterForm& form, std::int64_t samples,
                                     const metric::Params& params, cudaStream_t stream) {
    Buffer<double> rows(samples * params.d, stream);
    kernels.sample(points.prepared(), samples, form, rows.get(), params, stream);
    return fetched(rows, stream);
}

}  // namespace kith::gpu
