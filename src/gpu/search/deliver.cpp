// Lists on the device to the caller: ids, and keys as distances; see deliver.h.
#include "gpu/search/deliver.h"

#include "gpu/metric/user.h"

namespace kith::gpu {

void deliver(const SearchContext& context, Lists lists, std::int64_t first, std::int64_t count) {
    const std::int64_t cells = count * context.k, element = context.f64 ? 8 : 4;
    std::int64_t* const ids = context.out.ids + first * context.k;
    if (lists.ids != ids)
        check(cudaMemcpyAsync(ids, lists.ids, static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault,
                              context.stream),
              "copy of the ids");
    if (!context.out.distances) return;
    char* const distances = static_cast<char*>(context.out.distances) + first * context.k * element;
    Buffer<char> made(context.direct ? 0 : cells * element, context.stream);
    char* const values = context.direct ? distances : made.get();
    const DeviceMetric& metric = context.points.metric;
    if (!metric.kernels || context.keys) user_report(lists.keys, values, context.f64, cells, context.stream);
    else if (context.f64)
        metric.kernels->report_f64(lists.keys, reinterpret_cast<double*>(values), cells, metric.params, context.stream);
    else metric.kernels->report_f32(lists.keys, reinterpret_cast<float*>(values), cells, metric.params, context.stream);
    if (context.direct) return;
    check(cudaMemcpyAsync(distances, values, static_cast<std::size_t>(cells * element), cudaMemcpyDefault,
                          context.stream),
          "copy of the distances");
}

}  // namespace kith::gpu
