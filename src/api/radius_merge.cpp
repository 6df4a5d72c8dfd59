// See radius_merge.h.
#include "api/radius_merge.h"

#include <algorithm>

#include "cpu/primitives/top_k.h"
#include "exact/ceil_div.h"
#include "machine/parallel.h"

namespace kith::api {

namespace {

constexpr std::int64_t rows_per_task = 64;

}  // namespace

RadiusNeighbors merged(const std::vector<RadiusRows>& parts, std::int64_t rows,
                       const cpu::ReportedDistance& reported, bool f64, int threads) {
    RadiusNeighbors all;
    all.queries = rows;
    all.f64 = f64;
    all.offsets.resize(static_cast<std::size_t>(rows) + 1);
    for (std::int64_t i = 0; i <= rows; ++i)
        for (const RadiusRows& part : parts)
            all.offsets[static_cast<std::size_t>(i)] += part.offsets[i];
    const auto entries = static_cast<std::size_t>(all.offsets.back());
    all.ids.resize(entries);
    if (f64) all.distances64.resize(entries);
    else all.distances.resize(entries);
    machine::parallel_tasks(threads, exact::ceil_div(rows, rows_per_task), [&](std::int64_t task) {
        std::vector<cpu::Neighbor> row;
        const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
        for (std::int64_t i = task * rows_per_task; i < end; ++i) {
            row.clear();
            for (const RadiusRows& part : parts)
                for (std::int64_t at = part.offsets[i]; at < part.offsets[i + 1]; ++at)
                    row.push_back({part.distances64[at], part.ids[at]});
            std::sort(row.begin(), row.end());
            auto to = static_cast<std::size_t>(all.offsets[static_cast<std::size_t>(i)]);
            for (const cpu::Neighbor& near : row) {
                const double distance = reported(near.rank);
                all.ids[to] = near.id;
                if (f64) all.distances64[to] = distance;
                else all.distances[to] = static_cast<float>(distance);
                ++to;
            }
        }
    });
    return all;
}

}  // namespace kith::api
