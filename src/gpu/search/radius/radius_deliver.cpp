// See radius_deliver.h.
#include "gpu/search/radius/radius_deliver.h"

#include <utility>

#include "gpu/metric/user.h"
#include "gpu/search/deliver.h"
#include "gpu/search/radius/radius_rows.h"

namespace kith::gpu {

namespace {

// Copies a result to the host. Waits.
template <class T>
void fetch(std::vector<T>& to, const void* from, cudaStream_t stream) {
    InFlight copy(stream);
    check(cudaMemcpyAsync(to.data(), from, to.size() * sizeof(T), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("search by radius");
}

}  // namespace

RowOffsets::RowOffsets(const std::int64_t* totals, std::int64_t q, cudaStream_t stream)
    : on_device(q + 1, stream), on_host(static_cast<std::size_t>(q) + 1) {
    sum_counts(totals, q, on_device.get(), stream);
    fetch(on_host, on_device.get(), stream);
}

TileRows in_order(const SearchContext& context, const RadiusRequest& request, RowOffsets offsets,
                  const Buffer<std::uint64_t>& keys, const Buffer<std::int64_t>& ids) {
    cudaStream_t stream = context.stream;
    TileRows out;
    out.offsets = std::move(offsets.on_host);
    const std::int64_t entries = out.offsets.back();
    if (entries == 0) return out;
    sort_radius_rows(out.offsets, offsets.on_device.get(), context.points.n, keys, ids, stream);
    const DeviceMetric& metric = context.points.metric;
    Buffer<char> values(entries * (request.f64 ? 8 : 4), stream);
    auto* const values64 = reinterpret_cast<double*>(values.get());
    auto* const values32 = reinterpret_cast<float*>(values.get());
    if (request.keys) user_report(keys.get(), values.get(), request.f64, entries, stream);
    else report_distances(metric, keys.get(), request.f64, values.get(), entries, stream);
    const auto size = static_cast<std::size_t>(entries);
    out.ids.resize(size);
    fetch(out.ids, ids.get(), stream);
    if (request.f64) {
        out.distances64.resize(size);
        fetch(out.distances64, values64, stream);
    } else {
        out.distances.resize(size);
        fetch(out.distances, values32, stream);
    }
    return out;
}

TileRows rows_of(const SearchContext& context, const RadiusRequest& request, RadiusFound found) {
    cudaStream_t stream = context.stream;
    RowOffsets offsets(found.totals.get(), found.q, stream);
    const std::int64_t entries = offsets.on_host.back();
    Buffer<std::uint64_t> keys(entries, stream);
    Buffer<std::int64_t> ids(entries, stream), cursors(found.q, stream);
    cursors.clear_to(0);
    for (const RadiusPart& part : found.parts)
        place_part(part, offsets.on_device.get(), cursors.get(), keys.get(), ids.get(), stream);
    found.parts.clear();
    return in_order(context, request, std::move(offsets), keys, ids);
}

void hand_on(const RadiusRequest& request, std::int64_t first, const TileRows& rows) {
    const std::vector<std::int64_t>& all = rows.offsets;
    const std::int64_t most = request.list_bytes / (8 + (request.f64 ? 8 : 4));
    for (std::size_t row = 0; row + 1 < all.size();) {
        std::size_t end = row + 1;
        while (end + 1 < all.size() && all[end + 1] - all[row] <= most) ++end;
        std::vector<std::int64_t> offsets(all.begin() + static_cast<std::ptrdiff_t>(row),
                                          all.begin() + static_cast<std::ptrdiff_t>(end) + 1);
        const std::int64_t from = all[row];
        for (std::int64_t& at : offsets) at -= from;
        (*request.take)({first + static_cast<std::int64_t>(row),
                         static_cast<std::int64_t>(end - row), offsets.data(),
                         rows.ids.data() + from,
                         request.f64 ? nullptr : rows.distances.data() + from,
                         request.f64 ? rows.distances64.data() + from : nullptr});
        row = end;
    }
}

}  // namespace kith::gpu
