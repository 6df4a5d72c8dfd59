// Searches by radius on groups of devices, with what tests force on them.
#pragma once

#include <string>
#include <vector>

#include "api/check/validate.h"
#include "api/group/device_group.h"
#include "api/radius/radius.h"
#include "radius_cases.h"

namespace radius_devices {

using namespace kith;

struct Group {
    std::vector<std::string> devices;
    api::GroupProbe probe;
    bool keep = false;         // as an Index does: the caller's points go before the search
    TakeRadiusRows seen = {};  // of every block of rows
};

// Calls run(group, metric, progress) of a group that has the points.
template <class Run>
auto with_group(const Group& on, const MatrixView& points, std::int64_t q, ElementType type, const Options& options,
                const Run& run) {
    ProgressMeter progress(options.progress, static_cast<double>(q) * static_cast<double>(points.rows));
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    MatrixView given = points;
    std::vector<std::byte> bytes;
    const bool goes = on.keep && points.device == host_memory;
    if (goes) {
        const std::int64_t elements = points.layout == Layout::row_major
                                          ? (points.rows - 1) * points.stride + points.cols
                                          : (points.cols - 1) * points.stride + points.rows;
        const auto* first = static_cast<const std::byte*>(points.data);
        bytes.assign(first, first + elements * static_cast<std::int64_t>(size_of(points.type)));
        given.data = bytes.data();
    }
    const Shape shape{points.rows, q, points.cols, 1, type, false};
    const api::DeviceGroup group(given, metric, on.devices, shape, options, on.keep, progress, on.probe, !on.keep);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x55});
    return run(group, metric, progress);
}

// Without queries: the points among themselves.
inline RadiusNeighbors listed(const Group& on, const MatrixView& points, const MatrixView* queries, const Radius& r,
                              const Options& options) {
    const std::int64_t q = queries ? queries->rows : points.rows;
    const ElementType type = queries ? queries->type : points.type;
    return with_group(on, points, q, type, options,
                      [&](const api::DeviceGroup& group, const MetricSpec& metric, ProgressMeter& progress) {
                          return api::collect_radius(q, options.f64, [&](const TakeRadiusRows& take) {
                              const TakeRadiusRows both = [&](const RadiusRows& rows) {
                                  if (on.seen) on.seen(rows);
                                  take(rows);
                              };
                              return api::run_radius(group, metric, {queries, r, options, progress, {.take = &both}});
                          });
                      });
}

inline RadiusCounts counted(const Group& on, const MatrixView& points, const MatrixView* queries, const Radius& r,
                            const Options& options) {
    const std::int64_t q = queries ? queries->rows : points.rows;
    const ElementType type = queries ? queries->type : points.type;
    return with_group(
        on, points, q, type, options,
        [&](const api::DeviceGroup& group, const MetricSpec& metric, ProgressMeter& progress) {
            return api::collect_counts(q, [&](std::int64_t* counts) {
                return api::run_radius(group, metric, {queries, r, options, progress, {.counts = counts}});
            });
        });
}

}  // namespace radius_devices
