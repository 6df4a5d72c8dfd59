// See schedule.h. The sums are over the dealt rows (deal.h) that the devices compute.
#include "papers/kato/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "exact/ceil_div.h"
#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "papers/distance/distance_kernels.h"
#include "papers/kato/deal.h"
#include "papers/kato/triangle.h"
#include "papers/names.h"
#include "papers/plan.h"
#include "plan/schedule.h"

namespace kith::papers {

namespace {

// Sides of grids. A grid's keys, 8 bytes each and stored twice, must fit, and its points fill a
// device. Grids are numerous enough that the pairs that the diagonal computes twice are a few
// hundredths. Reasoned, not timed.
constexpr std::int64_t least_grid = 1024, most_grid = 8192, grids_of_side = 32;

// True if phase 1 is in f32: the metric's bound there is proven.
bool is_in_f32(const planner::MetricFacts& metric, ElementType type) {
    if (metric.user) return false;
    if (maps_coordinates(metric.id)) return true;
    return metric.traits.direct != metric::Direct::none &&
           (type != ElementType::f64 || metric.rounds);
}

}  // namespace

std::int64_t kato_grid(std::int64_t n, int parts) {
    const std::int64_t side = std::clamp(exact::ceil_div(n, grids_of_side), least_grid, most_grid),
                       rows = exact::ceil_div(exact::ceil_div(n, side), 2 * parts) * 2 * parts;
    return std::max<std::int64_t>(1, exact::ceil_div(n, rows));
}

double kato_device_bytes(const Shape& s, std::int64_t grid) {
    const auto n = static_cast<double>(s.n), d = static_cast<double>(s.d),
               g = static_cast<double>(grid);
    const double heaps = planner::heap_bytes(s), canonical = 2 * heaps + 16 * g * (g + d);
    // In f32: words with their terms, candidates; then values of grids, or lists that are closed.
    const auto listed = static_cast<double>(gpu::listed_points(s.n, s.k, gpu::max_candidates)),
               padded = static_cast<double>(exact::ceil_div(s.n, grid) * gpu::whole_tiles(grid));
    const double filtered = 4 * (padded + g) * (d + 2) + n * (16 + 8 * listed) +
                            std::max(8 * g * g, heaps + g * (24 + 12 * listed));
    return n * d * static_cast<double>(size_of(s.type)) + std::max(filtered, canonical);
}

Plan graph_plan(const planner::Request& r, const planner::Machine& machine) {
    if (!r.shape.graph)
        refuse("path: '{}' computes the graph of a set of points, not a search", r.path);
    const std::vector<int> devices = planner::choose_devices(r.device, r.data_device, machine);
    const bool on_cpu = devices.front() == host_memory;
    planner::Request plain = r;
    plain.path = name(Path::exact);
    plain.device = planner::spelled({devices.front()});
    const Plan scan = planner::make(plain, machine);
    const Shape& s = r.shape;
    Plan p;
    p.device = devices.front();
    p.path = Path::exact;
    p.forced = true;
    p.distances = kato;
    p.threads = 1;
    if (on_cpu) p.isa = scan.isa;
    if (devices.size() > 1) p.devices = devices;
    const auto parts = static_cast<int>(devices.size());
    const std::int64_t grid = std::min(kato_grid(s.n, parts), s.n);
    p.query_tile = p.point_tile = grid;
    p.chunk_points = s.n;
    const std::int64_t neighbours = std::min(s.k, s.n), heaps = 12 * s.n * neighbours;
    const std::int64_t points = s.n * s.d * static_cast<std::int64_t>(size_of(s.type));
    p.workspace_bytes =
        heaps * parts + (on_cpu ? cpu::triangle_bytes(s.n, neighbours)
                                : static_cast<std::int64_t>(kato_device_bytes(s, grid)) - points);
    p.attempts = {{kato, ""}};
    p.why = fmt::format(
        "path {}: forced. Each pair of points once, {}, in grids of {} x {} points whose rows are "
        "dealt to {}; heaps of all points on each ({:.1f} MiB), merged on the host.",
        r.path,
        !on_cpu && is_in_f32(r.metric, s.type) ? "in f32, rescored in binary64" : "in binary64",
        grid, grid, parts == 1 ? "one device" : fmt::format("{} devices", parts),
        static_cast<double>(heaps) / (1 << 20));
    return p;
}

GraphSchedule graph_schedule(const planner::Request& request, int devices, bool symmetric) {
    const Shape& s = request.shape;
    GraphSchedule out;
    out.how = kato;
    out.devices = devices;
    out.received_bytes =
        static_cast<double>(s.n) * static_cast<double>(s.d) * static_cast<double>(size_of(s.type));
    const std::int64_t grid = kato_grid(s.n, out.devices), grids = exact::ceil_div(s.n, grid);
    const auto side = [&](std::int64_t i) {
        return static_cast<double>(std::min(grid, s.n - i * grid));
    };
    planner::Work work;
    for (int part = 0; part < out.devices; ++part) {
        double pairs = 0;
        for (std::int64_t t = 0; t < exact::dealt_rows(grids, part, out.devices); ++t) {
            const std::int64_t y = exact::dealt_row(t, part, out.devices);
            const double others =
                static_cast<double>(s.n) - static_cast<double>(y * grid) - side(y);
            pairs += side(y) * (side(y) + others * (symmetric ? 1 : 2));
        }
        work.add(pairs);
    }
    planner::set_work(work, s.n, out);
    out.device_bytes = kato_device_bytes(s, grid);
    out.sent_bytes = planner::heap_bytes(s);
    return out;
}

}  // namespace kith::papers
