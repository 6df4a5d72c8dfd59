// Radii of roots whose distance keys may leave binary64; see wide_search.h. Where the radii
// themselves have keys, an ordinary search finds the points, and the distances that keys do not
// hold are corrected; else all pairs are scanned.
#include <algorithm>

#include "api/device_group.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/wide_search.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/metric/reported_distance.h"
#include "cpu/primitives/top_k.h"
#include "machine/parallel.h"

namespace kith::api {

namespace {

using Row = std::vector<cpu::Neighbor>;

class RadiusInRange {
public:
    RadiusInRange(const WideRadius& radius, const MetricSpec& wide)
        : call_(radius.call),
          metric_(wide),
          points_(on_host(radius.points, point_storage_)),
          queries_(call_.queries ? on_host(radius.queries, query_storage_) : points_),
          reported_(call_.wants.keys ? cpu::ReportedDistance() : cpu::ReportedDistance(wide)) {}

    Report run(const OrdinaryRadius& search) const {
        RadiusWants wants = call_.wants;
        const TakeRadiusRows take = [&](const RadiusRows& rows) { correct(rows); };
        if (!wants.counts) {
            wants.take = &take;
            wants.keys = true;
        }
        return search({call_.queries, call_.r, call_.options, call_.progress, wants});
    }

private:
    // Rows of distance keys, with wide keys in their place.
    void correct(const RadiusRows& rows) const {
        std::vector<Row> wide(static_cast<std::size_t>(rows.count));
        machine::parallel_tasks(threads_of(call_.options), rows.count, [&](std::int64_t i) {
            Row& row = wide[static_cast<std::size_t>(i)];
            cpu::DistanceKeys distance_keys(metric_, cpu::best_isa());
            cpu::RowBlock query, point;
            for (std::int64_t at = rows.offsets[i]; at < rows.offsets[i + 1]; ++at) {
                double key = rows.distances64[at];
                if (!exact::in_range(key)) {
                    if (query.stride() == 0) {
                        query = cpu::RowBlock(1, points_.cols);
                        point = cpu::RowBlock(1, points_.cols);
                        distance_keys.load(queries_, rows.first + i, 1, query);
                    }
                    distance_keys.load_points(points_, rows.ids[at], 1, point);
                    distance_keys.compute(query, 0, point, 1, &key);
                }
                row.push_back({key, rows.ids[at]});
            }
            if (query.stride() > 0) std::sort(row.begin(), row.end());
        });
        hand_on(rows.first, wide);
    }

    void hand_on(std::int64_t first, const std::vector<Row>& rows) const {
        const bool f64 = call_.options.f64 || call_.wants.keys;
        std::vector<std::int64_t> offsets{0}, ids;
        std::vector<float> distances;
        std::vector<double> distances64;
        for (const Row& row : rows) {
            for (const cpu::Neighbor& near : row) {
                ids.push_back(near.id);
                if (f64) distances64.push_back(reported_(near.rank));
                else distances.push_back(static_cast<float>(reported_(near.rank)));
            }
            offsets.push_back(std::ssize(ids));
        }
        (*call_.wants.take)({first, std::ssize(rows), offsets.data(), ids.data(),
                             f64 ? nullptr : distances.data(), f64 ? distances64.data() : nullptr});
    }

    const RadiusCall& call_;
    const MetricSpec& metric_;
    std::vector<std::byte> point_storage_, query_storage_;
    const MatrixView points_, queries_;
    const cpu::ReportedDistance reported_;
};

// Whether distance keys tell which points are within every radius.
bool have_keys(const WideRadius& radius) {
    const RadiusCall& call = radius.call;
    const cpu::ReportedDistance reported(radius.metric);
    const double least = reported(exact::least_key * 0x1p10),
                 most = reported(exact::end_of_keys * 0x1p-10);
    const std::vector<double> radii = radii_of(call.r, radius.queries.rows, radius.metric);
    return std::none_of(radii.begin(), radii.end(), [&](double r) {
        const bool all = std::isinf(r) && !call.r.open;
        return (radius.range.below && r < least) || (radius.range.above && r > most && !all);
    });
}

}  // namespace

Report radius_beyond_range(const WideRadius& radius, const OrdinaryRadius& search) {
    MetricSpec wide = radius.metric;
    wide.wide = true;
    if (have_keys(radius)) return RadiusInRange(radius, wide).run(search);
    Options options = on_cpu(radius.call.options);
    options.path = name(Path::exact);
    const RadiusCall call{radius.call.queries, radius.call.r, options, radius.call.progress,
                          radius.call.wants};
    check_options(options);
    const MatrixView& queries = call.queries ? *call.queries : radius.points;
    const Shape shape{radius.points.rows, queries.rows, radius.points.cols, 1,
                      radius.points.type, false};
    return run_radius(
        DeviceIndex(radius.points, wide, shape, options, false, false, call.progress, true), call);
}

}  // namespace kith::api
