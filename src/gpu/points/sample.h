// Rows of a sample of the points, on the host, and other values of a device that decide a filter's
// form there.
#pragma once

#include <vector>

#include "gpu/points/points.h"

namespace kith::gpu {

// A copy on the host, once the stream has come to it.
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

// Evenly spaced rows as the form takes them, samples x d.
inline std::vector<double> sample_of(const DeviceRows& points, const MetricKernels& kernels,
                                     const FilterForm& form, std::int64_t samples,
                                     const metric::Params& params, cudaStream_t stream) {
    Buffer<double> rows(samples * params.d, stream);
    kernels.sample(points.prepared(), samples, form, rows.get(), params, stream);
    return fetched(rows, stream);
}

}  // namespace kith::gpu
