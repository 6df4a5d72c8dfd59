// Points and queries divided among devices; the parts of the answer put together.
#include "api/device_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "api/group_call.h"
#include "api/group_report.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/rows.h"
#include "api/self.h"
#include "exact/ceil_div.h"
#include "exact/element.h"
#include "kith/memory.h"
#include "kith/shards.h"
#include "machine/parallel.h"
#include "scale/blocks.h"

namespace kith::api {

namespace {

// Queries at a time that an Index plans for: more than a device takes at once.
constexpr std::int64_t many_queries = 1 << 16;
constexpr std::int64_t no_block = -1;
// Rows that a thread merges at a time.
constexpr std::int64_t merged_rows = 256;

std::vector<int> ordinals_of(const std::vector<std::string>& devices) {
    std::vector<int> ordinals;
    for (const std::string& name : devices)
        ordinals.push_back(name == "cpu" ? host_memory : std::stoi(name.substr(5)));
    return ordinals;
}

// Which machine to ask: CUDA is not started for the CPU alone.
std::string widest(const std::vector<std::string>& devices) {
    const bool host = std::all_of(devices.begin(), devices.end(),
                                  [](const std::string& name) { return name == "cpu"; });
    return host ? "cpu" : "cuda:all";
}

}  // namespace

void settle(const MatrixView& view) {
    char first = 0;
    if (view.device != host_memory) gpu::copy(&first, view.data, sizeof first);
}

Options on_cpu(Options options) {
    options.device = "cpu";
    options.stream = nullptr;
    if (options.path != name(Path::exact)) options.path.clear();
    if (options.isa.rfind("sm_", 0) == 0) options.isa.clear();
    return options;
}

std::vector<std::string> devices_of(const Options& options) {
    const std::string& device = options.device;
    if (device != "cuda:all" && device.find(',') == std::string::npos) return {};
    std::vector<std::string> names;
    for (const int ordinal : planner::choose_devices(device, host_memory, machine("cuda:all")))
        names.push_back(planner::spelled({ordinal}));
    return names;
}

// What the blocks of one search share.
struct DeviceGroup::Search {
    MatrixView queries;  // of a graph of unsharded points nothing: each device has them
    bool graph;
    std::int64_t k, searched;  // neighbours of a row of `out`, and those that are searched for
    NeighborsView out;
    // Of shards: the neighbours of each block among the points of those that are done.
    std::vector<PartialNeighbors> merged;
    std::mutex merging;
};

DeviceGroup::DeviceGroup(const MatrixView& points, const MetricSpec& metric,
                         std::vector<std::string> devices, const Shape& shape,
                         const Options& options, bool copy, ProgressMeter& progress,
                         GroupProbe probe, bool all_points)
    : points_(points),
      metric_(metric),
      shape_(shape),
      options_(options),
      copy_(copy),
      for_radius_(all_points),
      probe_(std::move(probe)),
      devices_(std::move(devices)) {
    options_.progress = nullptr;
    options_.stream = nullptr;  // of one device; settle() has waited for what it was given
    const auto start = std::chrono::steady_clock::now();
    settle(points);
    plan_parts();
    prepare_parts(progress);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string DeviceGroup::device() const {
    return planner::spelled(ordinals_of(devices_));
}

MatrixView DeviceGroup::part_of(const MatrixView& points, std::size_t part) const {
    const std::int64_t first = parts_[part].first;
    return rows_of(points, first, std::min(part_points_, points_.rows - first));
}

std::unique_ptr<DeviceIndex> DeviceGroup::prepared(const std::string& device,
                                                   const MatrixView& points, bool copy,
                                                   ProgressMeter& progress) const {
    Options options = device == "cpu" ? on_cpu(options_) : options_;
    options.device = device;
    Shape shape = shape_;
    shape.n = points.rows;
    shape.graph = false;
    return std::make_unique<DeviceIndex>(points, metric_, shape, options, copy, copy, progress,
                                         for_radius_);
}

// How many points a device holds, by the first device that has room for a plan.
void DeviceGroup::plan_parts() {
    const planner::Machine here = machine(widest(devices_));
    std::vector<int> ordinals = ordinals_of(devices_);
    kind_ = planner::kind_of(ordinals, here);
    Shape shape = shape_;
    if (copy_) shape.q = many_queries;
    part_points_ = points_.rows;
    at_once_ = many_queries;
    for (std::size_t i = 0; i < ordinals.size(); ++i) {
        try {
            planner::Request asked = request(shape, metric_, options_, points_.device);
            asked.all_points = for_radius_;
            const Plan plan = planner::divide(asked, here, ordinals);
            part_points_ = plan.device_points;
            at_once_ = std::max<std::int64_t>(1, plan.query_tile);
            break;
        } catch (const Error& error) {  // a budget of the caller's is for all of them
            if (error.code() != ErrorCode::out_of_memory || options_.memory > 0) throw;
            std::rotate(ordinals.begin(), ordinals.begin() + 1, ordinals.end());
        }
    }
    if (probe_.shard_points > 0) part_points_ = std::min(probe_.shard_points, points_.rows);
}

void DeviceGroup::prepare_parts(ProgressMeter& progress) {
    const auto most = static_cast<std::int64_t>(devices_.size());
    if (sharded()) part_points_ = std::max(part_points_, exact::ceil_div(points_.rows, most));
    const std::int64_t count = sharded() ? exact::ceil_div(points_.rows, part_points_) : most;
    parts_.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; sharded() && i < parts_.size(); ++i)
        parts_[i].first = static_cast<std::int64_t>(i) * part_points_;
    const scale::Outcome outcome = scale::run_blocks(
        static_cast<int>(count), count, scale::Sharing::own, "prepare", progress,
        [&](int device, std::int64_t, ProgressMeter& own) {
            const auto at = static_cast<std::size_t>(device);
            if (probe_.before) probe_.before(device, no_block);
            parts_[at].index = prepared(devices_[at], part_of(points_, at), copy_, own);
        });
    for (const scale::Failure& failure : outcome.failures)
        lost_.push_back(
            describe(failure.error, devices_[static_cast<std::size_t>(failure.device)], 0));
    const auto missing = [](const Part& part) { return !part.index; };
    if (!sharded()) {
        if (!std::all_of(parts_.begin(), parts_.end(), missing)) return;
        parts_.push_back({0, prepared("cpu", points_, copy_, progress)});
        return;
    }
    // The shard of a device that failed: to the first other one that takes it, or the CPU.
    for (const std::int64_t left : outcome.left) {
        const auto part = static_cast<std::size_t>(left);
        for (std::size_t other = 0; other < devices_.size() && missing(parts_[part]); ++other) {
            if (other < parts_.size() && (missing(parts_[other]) || other == part)) continue;
            try {
                parts_[part].index =
                    prepared(devices_[other], part_of(points_, part), copy_, progress);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device)
                    throw;
            }
        }
        if (missing(parts_[part]))
            parts_[part].index = prepared("cpu", part_of(points_, part), copy_, progress);
    }
}

// All points, as they are kept; shards of an Index are copied together in `storage`.
MatrixView DeviceGroup::all_points(std::vector<std::byte>& storage) const {
    if (!copy_) return points_;
    std::exception_ptr error;
    if (!sharded()) {
        for (const Part& part : parts_) {
            if (!part.index) continue;
            try {  // a device that has failed may not give them back
                return on_host(part.index->points(), storage);
            } catch (const Error&) {
                error = std::current_exception();
            }
        }
        std::rethrow_exception(error);
    }
    const auto size = static_cast<std::int64_t>(size_of(points_.type));
    require_memory(points_.rows * points_.cols * size, "points: a copy in host memory");
    storage.resize(static_cast<std::size_t>(points_.rows * points_.cols * size));
    for (const Part& part : parts_) {
        std::vector<std::byte> part_storage;
        const MatrixView from = on_host(part.index->points(), part_storage);
        for (std::int64_t i = 0; i < from.rows; ++i)
            for (std::int64_t j = 0; j < from.cols; ++j)
                std::memcpy(storage.data() + ((part.first + i) * from.cols + j) * size,
                            static_cast<const char*>(from.data) + exact::offset(from, i, j) * size,
                            static_cast<std::size_t>(size));
    }
    MatrixView all = points_;
    all.data = storage.data();
    all.stride = all.cols;
    all.layout = Layout::row_major;
    all.device = host_memory;
    return all;
}

// A block of queries among all points, into its rows of the result.
void DeviceGroup::block_of_all(const Search& search, const GroupTask& task) {
    const std::int64_t first = task.first, rows = task.rows;
    const MatrixView queries =
        rows_of(search.queries.data ? search.queries : task.index.points(), first, rows);
    const NeighborsView out = rows_of(search.out, first, search.k, task.call.f64);
    if (!search.graph) {
        add(task.index.run(queries, search.k, false, task.call, task.progress, out), task.report);
        return;
    }
    const Neighbors found =
        collect(rows, search.searched, task.call.f64, [&](const NeighborsView& into) {
            return task.index.run(queries, search.searched, false, task.call, task.progress, into);
        });
    put_without_own(found, first, out);
    add(found.report, task.report);
}

// A block of queries among the points of a shard, merged with what other shards have found.
void DeviceGroup::block_of_part(Search& search, const GroupTask& task) {
    const std::int64_t rows = task.rows, k = search.searched;
    const MatrixView queries = rows_of(search.queries, task.first, rows);
    PartialNeighbors found{rows, k, queries.cols, {}, {}};
    found.ids.resize(static_cast<std::size_t>(rows * k));
    found.keys.resize(found.ids.size());
    Options call = task.call;
    call.f64 = true;
    const Report done = task.index.run(queries, k, false, call, task.progress,
                                       {found.ids.data(), found.keys.data(), host_memory}, true);
    for (std::int64_t& id : found.ids)
        if (id >= 0) id += task.first_point;
    add(done, task.report);
    const std::lock_guard lock(search.merging);
    PartialNeighbors& all = search.merged[static_cast<std::size_t>(task.block)];
    if (all.ids.empty()) {
        all = std::move(found);
        return;
    }
    machine::parallel_tasks(
        threads_of(task.call), exact::ceil_div(rows, merged_rows), [&](std::int64_t at) {
            merge_rows(all, found, at * merged_rows, std::min(rows, (at + 1) * merged_rows));
        });
}

Report DeviceGroup::search_blocks(const MatrixView* queries, std::int64_t k, const Options& call,
                                  ProgressMeter& progress, const NeighborsView& out) const {
    const bool graph = !queries;
    std::vector<std::byte> storage;
    const std::int64_t q = graph ? points_.rows : queries->rows;
    GroupCall shared(*this, call, progress);
    const std::int64_t block = shared.block_queries(q);
    Search search{.queries = queries     ? *queries
                             : sharded() ? all_points(storage)
                                         : MatrixView{},
                  .graph = graph,
                  .k = k,
                  .searched = graph ? k + 1 : k,
                  .out = out,
                  .merged = {},
                  .merging = {}};
    if (sharded()) {
        check_result_memory(search.searched, q, sizeof(std::int64_t) + sizeof(double));
        search.merged.resize(static_cast<std::size_t>(exact::ceil_div(q, block)));
    }
    shared.require_plan(std::min(block, q), search.searched, graph ? points_.type : queries->type);
    shared.run(0, q, block, [&](const GroupTask& task) {
        if (sharded()) block_of_part(search, task);
        else block_of_all(search, task);
    });
    for (std::size_t b = 0; b < search.merged.size(); ++b) {
        const Neighbors found =
            reported_neighbors(search.merged[b], cpu::ReportedDistance(metric_), call.f64);
        const std::int64_t first = static_cast<std::int64_t>(b) * block;
        const NeighborsView to = rows_of(out, first, k, call.f64);
        if (graph) put_without_own(found, first, to);
        else put(found, to);
    }
    return shared.report(q);
}

Report DeviceGroup::run(const MatrixView* queries, std::int64_t k, const Options& call,
                        ProgressMeter& progress, const NeighborsView& out) const {
    if (call.enqueue)
        throw Error(ErrorCode::invalid_argument,
                    "enqueue: serves selections; a search has finished on return");
    const auto start = std::chrono::steady_clock::now();
    if (queries) settle(*queries);
    Report report;
    const bool of_self = !queries && call.include_self;
    // Rows that are put together on the host before they go to the caller's device.
    if (out.device != host_memory && (sharded() || (!queries && !of_self))) {
        const std::int64_t rows = queries ? queries->rows : points_.rows;
        const Neighbors found = collect(rows, k, call.f64, [&](const NeighborsView& into) {
            return run(queries, k, call, progress, into);
        });
        put(found, out);
        report = found.report;
    } else if (of_self) {
        std::vector<std::byte> storage;
        report = with_self(metric_, all_points(storage), k, call, progress, out,
                           [&](std::int64_t searched, const NeighborsView& into) {
                               return search_blocks(nullptr, searched, call, progress, into);
                           });
    } else {
        if (out.device != host_memory) settle(view(out.ids, 1, 1, 0, out.device));
        report = search_blocks(queries, k, call, progress, out);
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

}  // namespace kith::api
