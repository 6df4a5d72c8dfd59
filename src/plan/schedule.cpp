// See schedule.h. The sums are over the same dealt rows (exact/deal.h) that the devices compute.
#include "plan/schedule.h"

#include <algorithm>

#include "exact/ceil_div.h"
#include "exact/deal.h"
#include "gpu/filter/levels.h"
#include "gpu/search/tuning.h"

namespace kith::planner {

namespace {

// Sides of grids: few enough points for the keys of a grid, 8 bytes each and twice, and enough to fill a device; so
// many grids that what the diagonal has twice is a few hundredths. Reasoned, not timed.
constexpr std::int64_t least_grid = 1024, most_grid = 8192, grids_of_side = 32;

struct Work {
    double all = 0, most = 0;
    void add(double part) {
        all += part;
        most = std::max(most, part);
    }
};

void set_work(const Work& work, std::int64_t n, GraphSchedule& out) {
    out.pairs = work.all / (static_cast<double>(n) * static_cast<double>(n));
    out.balance = work.all > 0 ? work.most * out.devices / work.all : 1;
}

// Of k neighbours of each point.
double heap_bytes(const Shape& s) {
    return 12 * static_cast<double>(s.n) * static_cast<double>(std::min(s.k, s.n));
}

void kato(const Shape& s, bool symmetric, GraphSchedule& out) {
    out.how = "kato";
    const std::int64_t grid = kato_grid(s.n, out.devices), grids = exact::ceil_div(s.n, grid);
    const auto side = [&](std::int64_t i) { return static_cast<double>(std::min(grid, s.n - i * grid)); };
    Work work;
    for (int part = 0; part < out.devices; ++part) {
        double pairs = 0;
        for (std::int64_t t = 0; t < exact::dealt_rows(grids, part, out.devices); ++t) {
            const std::int64_t y = exact::dealt_row(t, part, out.devices);
            const double others = static_cast<double>(s.n) - static_cast<double>(y * grid) - side(y);
            pairs += side(y) * (side(y) + others * (symmetric ? 1 : 2));
        }
        work.add(pairs);
    }
    set_work(work, s.n, out);
    out.device_bytes = kato_device_bytes(s, grid);
    out.sent_bytes = heap_bytes(s);
}

// All rows with the samples; then each row with the positions from its own on that are beyond them.
double symmetric_pairs(const Shape& s) {
    const gpu::FilterLevels levels = gpu::filter_levels(s.n, s.n, s.k + 1);
    const double n = static_cast<double>(s.n),
                 sample = static_cast<double>(levels.sample[static_cast<std::size_t>(levels.count - 1)]);
    return n * sample + (n - sample) * (n + sample) / 2;
}

}  // namespace

std::int64_t kato_grid(std::int64_t n, int parts) {
    const std::int64_t side = std::clamp(exact::ceil_div(n, grids_of_side), least_grid, most_grid),
                       rows = exact::ceil_div(exact::ceil_div(n, side), 2 * parts) * 2 * parts;
    return std::max<std::int64_t>(1, exact::ceil_div(n, rows));
}

double kato_device_bytes(const Shape& s, std::int64_t grid) {
    const double d = static_cast<double>(s.d), g = static_cast<double>(grid);
    return static_cast<double>(s.n) * d * static_cast<double>(size_of(s.type)) + 2 * heap_bytes(s) + 16 * g * (g + d);
}

GraphSchedule schedule(const Request& request, const Machine& machine, int count, bool symmetric) {
    Machine several = machine;
    several.devices.assign(static_cast<std::size_t>(count), machine.devices.front());
    Request r = request;
    r.device = count == 1 ? "cuda:0" : "cuda:all";
    const Plan plan = make(r, several);
    const Shape& s = request.shape;
    GraphSchedule out;
    out.devices = count;
    const double row_bytes = static_cast<double>(s.d) * static_cast<double>(size_of(s.type));
    if (request.path == "kato") {
        kato(s, symmetric, out);
        out.received_bytes = static_cast<double>(s.n) * row_bytes;
        return out;
    }
    const std::int64_t held = plan.device_points > 0 ? plan.device_points : s.n;
    const bool sharded = held < s.n;
    out.sent_bytes = heap_bytes(s) / (sharded ? 1 : count);
    const bool on_host = plan.host_points != HostPoints::none;
    const std::int64_t prepared = on_host ? held : std::min(held, plan.chunk_points);
    const double per_point = gpu::tuning::point_bytes(s.d, static_cast<std::int64_t>(size_of(s.type)), plan.path, true);
    out.device_bytes = static_cast<double>(plan.workspace_bytes) +
                       (on_host ? static_cast<double>(plan.held_bytes) : static_cast<double>(prepared) * per_point);
    if (plan.symmetric) {
        out.how = "symmetric";
        out.received_bytes = static_cast<double>(s.n) * row_bytes;
        set_work({symmetric_pairs(s), symmetric_pairs(s)}, s.n, out);
        return out;
    }
    out.how = sharded ? "shards" : "blocks";
    const std::int64_t block = plan.device_queries > 0 ? plan.device_queries : s.n,
                       blocks = exact::ceil_div(s.n, block);
    Work work;
    for (int part = 0; part < count; ++part) {
        const std::int64_t own = sharded ? s.n : std::min(s.n, exact::ceil_div(blocks - part, count) * block);
        work.add(static_cast<double>(std::max<std::int64_t>(0, own)) *
                 static_cast<double>(std::min(held, s.n - (sharded ? part * held : 0))));
    }
    set_work(work, s.n, out);
    out.pairs = 1;
    // Of the first device, which has most. Points that stream come for each pass; queries that it holds as points do
    // not.
    const std::int64_t searches = exact::ceil_div(blocks, sharded ? 1 : count);
    const bool streams = prepared < held;
    const std::int64_t passes =
        streams ? searches * exact::ceil_div(block, gpu::tuning::queries_of_pass(plan, std::min(plan.query_tile, block),
                                                                                 s.k, s.d, s.type))
                : 1;
    const std::int64_t queries = streams || sharded || on_host ? std::min(s.n, searches * block) : 0;
    out.received_bytes = row_bytes * (static_cast<double>(queries) + static_cast<double>(passes * held));
    return out;
}

}  // namespace kith::planner
