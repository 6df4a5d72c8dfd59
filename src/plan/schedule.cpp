// See schedule.h.
#include "plan/schedule.h"

#include <algorithm>

#include "exact/ceil_div.h"
#include "gpu/filter/levels.h"
#include "gpu/search/tuning.h"
#include "papers/plan.h"

namespace kith::planner {

namespace {

// All rows with the samples; then each row with the positions beyond the samples that are not
// before its own.
double symmetric_pairs(const Shape& s) {
    const gpu::FilterLevels levels = gpu::filter_levels(s.n, s.n, s.k + 1);
    const double n = static_cast<double>(s.n),
                 sample =
                     static_cast<double>(levels.sample[static_cast<std::size_t>(levels.count - 1)]);
    return n * sample + (n - sample) * (n + sample) / 2;
}

}  // namespace

void set_work(const Work& work, std::int64_t n, GraphSchedule& out) {
    out.pairs = work.all / (static_cast<double>(n) * static_cast<double>(n));
    out.balance = work.all > 0 ? work.most * out.devices / work.all : 1;
}

double heap_bytes(const Shape& s) {
    return 12 * static_cast<double>(s.n) * static_cast<double>(std::min(s.k, s.n));
}

GraphSchedule schedule(const Request& request, const Machine& machine, int count, bool symmetric) {
    Machine several = machine;
    several.devices.assign(static_cast<std::size_t>(count), machine.devices.front());
    Request r = request;
    r.device = count == 1 ? "cuda:0" : "cuda:all";
    const Plan plan = make(r, several);
    if (papers::is_graph_path(request.path))
        return papers::graph_schedule(request, count, symmetric);
    const Shape& s = request.shape;
    GraphSchedule out;
    out.devices = count;
    const double row_bytes = static_cast<double>(s.d) * static_cast<double>(size_of(s.type));
    const std::int64_t held = plan.device_points > 0 ? plan.device_points : s.n;
    const bool sharded = held < s.n;
    out.sent_bytes = heap_bytes(s) / (sharded ? 1 : count);
    const bool on_host = plan.host_points != HostPoints::none;
    const std::int64_t prepared = on_host ? held : std::min(held, plan.chunk_points);
    const double per_point =
        gpu::tuning::point_bytes(s.d, static_cast<std::int64_t>(size_of(s.type)), plan.path, true);
    out.device_bytes = static_cast<double>(plan.workspace_bytes) +
                       (on_host ? static_cast<double>(plan.held_bytes)
                                : static_cast<double>(prepared) * per_point);
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
        const std::int64_t own =
            sharded ? s.n : std::min(s.n, exact::ceil_div(blocks - part, count) * block);
        work.add(static_cast<double>(std::max<std::int64_t>(0, own)) *
                 static_cast<double>(std::min(held, s.n - (sharded ? part * held : 0))));
    }
    set_work(work, s.n, out);
    out.pairs = 1;
    // For the first device, which receives most. Points that stream arrive anew for each pass;
    // queries that the device holds as points do not arrive.
    const std::int64_t searches = exact::ceil_div(blocks, sharded ? 1 : count);
    const bool streams = prepared < held;
    const std::int64_t passes =
        streams ? searches * exact::ceil_div(block, gpu::tuning::queries_of_pass(
                                                        plan, std::min(plan.query_tile, block), s.k,
                                                        s.d, s.type))
                : 1;
    const std::int64_t queries =
        streams || sharded || on_host ? std::min(s.n, searches * block) : 0;
    out.received_bytes =
        row_bytes * (static_cast<double>(queries) + static_cast<double>(passes * held));
    return out;
}

}  // namespace kith::planner
