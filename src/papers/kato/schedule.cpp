// See schedule.h. The sums are over the same dealt rows (deal.h) that the devices compute.
#include "papers/kato/schedule.h"

#include <algorithm>

#include "exact/ceil_div.h"
#include "papers/kato/deal.h"
#include "papers/names.h"
#include "papers/plan.h"
#include "plan/schedule.h"

namespace kith::papers {

namespace {

// Sides of grids: few enough points for the keys of a grid, 8 bytes each and twice, and enough to
// fill a device; so many grids that what the diagonal has twice is a few hundredths. Reasoned, not
// timed.
constexpr std::int64_t least_grid = 1024, most_grid = 8192, grids_of_side = 32;

}  // namespace

std::int64_t kato_grid(std::int64_t n, int parts) {
    const std::int64_t side = std::clamp(exact::ceil_div(n, grids_of_side), least_grid, most_grid),
                       rows = exact::ceil_div(exact::ceil_div(n, side), 2 * parts) * 2 * parts;
    return std::max<std::int64_t>(1, exact::ceil_div(n, rows));
}

double kato_device_bytes(const Shape& s, std::int64_t grid) {
    const double d = static_cast<double>(s.d), g = static_cast<double>(grid);
    return static_cast<double>(s.n) * d * static_cast<double>(size_of(s.type)) +
           2 * planner::heap_bytes(s) + 16 * g * (g + d);
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
