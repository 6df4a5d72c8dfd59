// The plan of many small searches.
#include "plan/batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "exact/bounds/box_trial.h"
#include "gpu/search/batches/batches.h"

namespace kith::planner {

namespace {

namespace t = gpu::tuning;

// Why one launch cannot serve the batches; "" if it can.
std::string not_together(const Request& r, const BatchesShape& s, double budget,
                         std::int64_t bytes) {
    if (!r.path.empty()) return fmt::format("path {} is forced", r.path);
    if (!r.selector.empty()) return fmt::format("selector {} is forced", r.selector);
    if (r.metric.user || !t::serves_batches(r.metric.id, s.shape.type, s.query_type))
        return "the kernel has euclidean, sqeuclidean and cityblock, of elements that f32 holds";
    if (s.shape.d > t::batches_max_dimensions)
        return fmt::format("more than {} dimensions", t::batches_max_dimensions);
    if (s.shape.k > t::batches_max_k) return fmt::format("k is above {}", t::batches_max_k);
    if (s.most_points > t::batches_max_points)
        return fmt::format("a batch has more than {} points", t::batches_max_points);
    const bool wide = s.shape.d > t::batches_register_dimensions;
    const double each = s.pairs / static_cast<double>(std::max<std::int64_t>(1, s.batches));
    if (wide ? each > t::batches_wide_pairs
             : s.pairs > t::batches_most_pairs && each > t::batches_small_pairs)
        return "the batches have many pairs each";
    if (s.blocks > t::batches_max_blocks) return "the queries are too many for one launch";
    if (static_cast<double>(bytes) > budget) return "the memory budget";
    return "";
}

}  // namespace

BatchesShape shape_of(const MatrixView& points, const MatrixView& queries,
                      const std::vector<Batch>& batches, std::int64_t k, bool f64, int out_device) {
    BatchesShape s;
    s.shape = {points.rows, queries.rows, points.cols, k, points.type, false};
    s.query_type = queries.type;
    s.query_device = queries.device;
    s.out_device = out_device;
    s.batches = static_cast<std::int64_t>(batches.size());
    s.f64 = f64;
    for (const Batch& b : batches) {
        s.most_points = std::max(s.most_points, b.points);
        s.blocks += b.queries / t::batches_queries + 1;
        s.pairs += static_cast<double>(b.points) * static_cast<double>(b.queries);
    }
    return s;
}

std::int64_t batches_bytes(const BatchesShape& s, int device, int data_device) {
    const auto rows = [&](std::int64_t count, ElementType type) {
        return count * s.shape.d * static_cast<std::int64_t>(size_of(type));
    };
    std::int64_t bytes = s.batches * t::batch_bytes;
    if (data_device != device) bytes += rows(s.shape.n, s.shape.type);
    if (s.query_device != device) bytes += rows(s.shape.q, s.query_type);
    if (s.out_device != device) bytes += s.shape.q * s.shape.k * (s.f64 ? 16 : 12);
    return bytes;
}

BatchesPlan batches(const Request& r, const BatchesShape& s, const Machine& machine) {
    BatchesPlan p;
    const std::vector<int> devices = choose_devices(r.device, r.data_device, machine);
    p.device = devices.front();
    if (p.device == host_memory) {
        p.run = BatchesRun::tasks;
        p.threads = r.threads > 0 ? r.threads : machine.threads;
        p.isa = r.isa.empty() ? machine.isa : r.isa;
        p.why = fmt::format("device cpu: a task for each small batch, {} threads for the others.",
                            p.threads);
        return p;
    }
    const std::int64_t bytes = batches_bytes(s, p.device, r.data_device);
    const double budget = device_budget(r, machine.devices[static_cast<std::size_t>(p.device)]);
    const std::string obstacle =
        devices.size() > 1 ? "several devices" : not_together(r, s, budget, bytes);
    if (!obstacle.empty()) {
        p.why = fmt::format("device cuda:{}: a search of each batch: {}.", p.device, obstacle);
        return p;
    }
    p.run = BatchesRun::together;
    p.workspace_bytes = bytes;
    p.why = fmt::format("device cuda:{}: all batches in one launch, {} bytes beside the caller's.",
                        p.device, bytes);
    return p;
}

// Intel Xeon (AVX-512), 2026-11-23, one thread, f32, uniform: microseconds of a search by
// direct-f32 and by the tree. 64 queries: n 256, d 3, k 16: 299, 122; n 1,024: 451, 205; d 8: 476,
// 334; n 2,048, d 8: 610, 527. As many queries as points: n 1,024, d 3: 6,044, 1,471; d 8: 10,108,
// 3,151; k 128: 27,654, 12,956. 16 queries, n 1,024: 184, 133; d 8: 198, 224.
constexpr std::int64_t least_tree_queries = 64, points_per_query = 16, points_per_neighbor = 8,
                       small_batch = 4096;

const char* batch_path(const metric::Traits& traits, const Batch& b, std::int64_t d,
                       std::int64_t k) {
    const bool pays = b.points < small_batch && b.queries >= least_tree_queries &&
                      b.points <= points_per_query * b.queries &&
                      points_per_neighbor * k <= b.points;
    return traits.monotone && d <= exact::tree_dimensions && pays ? name(Path::tree) : "";
}

bool is_task(double pairs, double all_pairs, int threads) {
    // At most a thread's share of all pairs, so the others wait no longer than that at the end.
    return threads > 1 && pairs * threads <= all_pairs;
}

}  // namespace kith::planner
