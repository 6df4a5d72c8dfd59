// Lists on the device to the caller: ids, and keys as distances; see deliver.h.
#include "gpu/search/deliver.h"

#include "gpu/metric/user.h"

namespace kith::gpu {

void report_distances(const DeviceMetric& metric, const std::uint64_t* keys, bool f64, void* out,
                      std::int64_t count, cudaStream_t stream) {
    if (!metric.kernels) user_report(keys, out, f64, count, stream);
    else if (f64)
        metric.kernels->report_f64(keys, static_cast<double*>(out), count, metric.params, stream);
    else metric.kernels->report_f32(keys, static_cast<float*>(out), count, metric.params, stream);
}

namespace {

// Writes the keys as they are, where they are asked for, or the distances that they stand for.
void report(const SearchContext& context, const std::uint64_t* keys, void* out,
            std::int64_t cells) {
    if (context.keys) user_report(keys, out, context.f64, cells, context.stream);
    else report_distances(context.points.metric, keys, context.f64, out, cells, context.stream);
}

}  // namespace

// The kernel first: a copy to pageable memory waits for what the stream has been given.
void deliver(const SearchContext& context, Lists lists, std::int64_t first, std::int64_t count) {
    const std::int64_t cells = count * context.k, element = context.f64 ? 8 : 4;
    const bool wanted = context.out.distances != nullptr;
    Buffer<char> made(context.direct || !wanted ? 0 : cells * element, context.stream);
    char* const distances =
        wanted ? static_cast<char*>(context.out.distances) + first * context.k * element : nullptr;
    if (wanted) report(context, lists.keys, context.direct ? distances : made.get(), cells);
    if (context.direct) return;
    check(cudaMemcpyAsync(context.out.ids + first * context.k, lists.ids,
                          static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault,
                          context.stream),
          "copy of the ids");
    if (!wanted) return;
    check(cudaMemcpyAsync(distances, made.get(), static_cast<std::size_t>(cells * element),
                          cudaMemcpyDefault, context.stream),
          "copy of the distances");
}

}  // namespace kith::gpu
