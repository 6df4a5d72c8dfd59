// Points and queries divided among devices; the parts of the answer put together.
#include "api/device_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

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

// Work of the program's own on the device where a matrix lies is over, on any stream: others read it in no order with
// that device.
void settle(const MatrixView& view) {
    char first = 0;
    if (view.device != host_memory) gpu::copy(&first, view.data, sizeof first);
}

std::vector<int> ordinals_of(const std::vector<std::string>& devices) {
    std::vector<int> ordinals;
    for (const std::string& name : devices) ordinals.push_back(name == "cpu" ? host_memory : std::stoi(name.substr(5)));
    return ordinals;
}

// Which machine to ask: CUDA is not started for the CPU alone.
std::string widest(const std::vector<std::string>& devices) {
    const bool host =
        std::all_of(devices.begin(), devices.end(), [](const std::string& name) { return name == "cpu"; });
    return host ? "cpu" : "cuda:all";
}

// The same on the CPU, which has paths and instruction sets of its own.
Options on_cpu(Options options) {
    options.device = "cpu";
    options.stream = nullptr;
    if (options.path != name(Path::exact)) options.path.clear();
    if (options.isa.rfind("sm_", 0) == 0) options.isa.clear();
    return options;
}

}  // namespace

std::vector<std::string> devices_of(const Options& options) {
    const std::string& device = options.device;
    if (device != "cuda:all" && device.find(',') == std::string::npos) return {};
    std::vector<std::string> names;
    for (const int ordinal : planner::choose_devices(device, host_memory, machine("cuda:all")))
        names.push_back(planner::spelled({ordinal}));
    return names;
}

// What the blocks of one call share.
struct DeviceGroup::Search {
    MatrixView queries;  // of a graph of unsharded points nothing: each device has them
    bool graph;
    std::int64_t q, k, searched;  // rows, neighbours of a row of `out`, and those that are searched for
    Options call;
    NeighborsView out;
    std::int64_t block;
    // Of shards: the neighbours of each block among the points of those that are done.
    std::vector<PartialNeighbors> merged;
    std::mutex merging;

    std::int64_t first(std::int64_t b) const { return b * block; }
    std::int64_t rows(std::int64_t b) const { return std::min(block, q - b * block); }
};

DeviceGroup::DeviceGroup(const MatrixView& points, const MetricSpec& metric, std::vector<std::string> devices,
                         const Shape& shape, const Options& options, bool copy, ProgressMeter& progress,
                         GroupProbe probe)
    : points_(points),
      metric_(metric),
      shape_(shape),
      options_(options),
      copy_(copy),
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

std::unique_ptr<DeviceIndex> DeviceGroup::prepared(const std::string& device, const MatrixView& points, bool copy,
                                                   ProgressMeter& progress) const {
    Options options = device == "cpu" ? on_cpu(options_) : options_;
    options.device = device;
    Shape shape = shape_;
    shape.n = points.rows;
    shape.graph = false;
    return std::make_unique<DeviceIndex>(points, metric_, shape, options, copy, copy, progress);
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
            const Plan plan = planner::divide(request(shape, metric_, options_, points_.device), here, ordinals);
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
    const scale::Outcome outcome = scale::run_blocks(static_cast<int>(count), count, scale::Sharing::own, "prepare",
                                                     progress, [&](int device, std::int64_t, ProgressMeter& own) {
                                                         const auto at = static_cast<std::size_t>(device);
                                                         if (probe_.before) probe_.before(device, no_block);
                                                         parts_[at].index =
                                                             prepared(devices_[at], part_of(points_, at), copy_, own);
                                                     });
    for (const scale::Failure& failure : outcome.failures)
        lost_.push_back(describe(failure.error, devices_[static_cast<std::size_t>(failure.device)], 0));
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
                parts_[part].index = prepared(devices_[other], part_of(points_, part), copy_, progress);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device) throw;
            }
        }
        if (missing(parts_[part])) parts_[part].index = prepared("cpu", part_of(points_, part), copy_, progress);
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
void DeviceGroup::block_of_all(const Search& search, const DeviceIndex& index, void* stream, std::int64_t block,
                               ProgressMeter& progress, Report& report) const {
    Options call = search.call;
    call.stream = stream;
    const std::int64_t first = search.first(block), rows = search.rows(block);
    const MatrixView queries = rows_of(search.queries.data ? search.queries : index.points(), first, rows);
    const NeighborsView out = rows_of(search.out, first, search.k, search.call.f64);
    if (!search.graph) {
        add(index.run(queries, search.k, false, call, progress, out), report);
        return;
    }
    const Neighbors found = collect(rows, search.searched, search.call.f64, [&](const NeighborsView& into) {
        return index.run(queries, search.searched, false, call, progress, into);
    });
    put_without_own(found, first, out);
    add(found.report, report);
}

// A block of queries among the points of a shard, merged with what other shards have found.
void DeviceGroup::block_of_part(Search& search, std::size_t part, const DeviceIndex& index, void* stream,
                                std::int64_t block, ProgressMeter& progress, Report& report) const {
    const std::int64_t rows = search.rows(block), k = search.searched;
    const MatrixView queries = rows_of(search.queries, search.first(block), rows);
    PartialNeighbors found{rows, k, queries.cols, {}, {}};
    found.ids.resize(static_cast<std::size_t>(rows * k));
    found.keys.resize(found.ids.size());
    Options call = search.call;
    call.stream = stream;
    call.f64 = true;
    const Report done =
        index.run(queries, k, false, call, progress, {found.ids.data(), found.keys.data(), host_memory}, true);
    for (std::int64_t& id : found.ids)
        if (id >= 0) id += parts_[part].first;
    add(done, report);
    const std::lock_guard lock(search.merging);
    PartialNeighbors& all = search.merged[static_cast<std::size_t>(block)];
    if (all.ids.empty()) {
        all = std::move(found);
        return;
    }
    machine::parallel_tasks(threads_of(search.call), exact::ceil_div(rows, merged_rows), [&](std::int64_t task) {
        merge_rows(all, found, task * merged_rows, std::min(rows, (task + 1) * merged_rows));
    });
}

// What devices have left that failed, when no other was there to take it.
void DeviceGroup::run_left(Search& search, const std::vector<std::int64_t>& left,
                           const std::vector<std::size_t>& failed, ProgressMeter& progress,
                           std::vector<Report>& reports) const {
    if (left.empty()) return;
    std::vector<std::byte> storage;
    if (!sharded()) {
        const auto cpu = prepared("cpu", all_points(storage), false, progress);
        Search own{.queries = search.queries,
                   .graph = search.graph,
                   .q = search.q,
                   .k = search.k,
                   .searched = search.searched,
                   .call = on_cpu(search.call),
                   .out = search.out,
                   .block = search.block,
                   .merged = {},
                   .merging = {}};
        for (const std::int64_t block : left) block_of_all(own, *cpu, nullptr, block, progress, reports.back());
        return;
    }
    const auto parts = static_cast<std::int64_t>(parts_.size());
    const auto has_failed = [&](std::size_t part) {
        return std::find(failed.begin(), failed.end(), part) != failed.end();
    };
    for (const std::size_t part : failed) {
        // The shard's points: the caller's, or those that the device still gives back.
        std::vector<std::byte> part_storage;
        const MatrixView points = copy_ ? on_host(parts_[part].index->points(), part_storage) : part_of(points_, part);
        std::unique_ptr<DeviceIndex> index;
        std::vector<std::int64_t> blocks;
        for (const std::int64_t unit : left)
            if (unit % parts == static_cast<std::int64_t>(part)) blocks.push_back(unit / parts);
        for (std::size_t other = 0; other < parts_.size() && !blocks.empty(); ++other) {
            if (has_failed(other)) continue;
            try {
                index = prepared(parts_[other].index->device(), points, false, progress);
                while (!blocks.empty()) {
                    block_of_part(search, part, *index, nullptr, blocks.back(), progress, reports[other]);
                    blocks.pop_back();
                }
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device) throw;
            }
        }
        if (blocks.empty()) continue;
        index = prepared("cpu", points, false, progress);
        const Options gpu_call = search.call;
        search.call = on_cpu(search.call);
        for (const std::int64_t block : blocks)
            block_of_part(search, part, *index, nullptr, block, progress, reports.back());
        search.call = gpu_call;
    }
}

Report DeviceGroup::search_blocks(const MatrixView* queries, std::int64_t k, const Options& call,
                                  ProgressMeter& progress, const NeighborsView& out) const {
    const bool graph = !queries;
    std::vector<std::byte> storage;
    Search search{.queries = queries     ? *queries
                             : sharded() ? all_points(storage)
                                         : MatrixView{},
                  .graph = graph,
                  .q = graph ? points_.rows : queries->rows,
                  .k = k,
                  .searched = graph ? k + 1 : k,
                  .call = call,
                  .out = out,
                  .block = 0,
                  .merged = {},
                  .merging = {}};
    search.call.progress = nullptr;
    search.call.stream = nullptr;
    search.call.include_self = false;
    search.call.device.clear();
    search.block = probe_.block_queries > 0 ? probe_.block_queries
                                            : planner::block_queries(search.q, at_once_, devices_.size(), kind_);
    const std::int64_t blocks = exact::ceil_div(search.q, search.block);
    std::vector<std::size_t> able;  // parts that have an index
    for (std::size_t i = 0; i < parts_.size(); ++i)
        if (parts_[i].index) able.push_back(i);
    const auto count = static_cast<std::int64_t>(able.size());
    std::vector<Report> reports(parts_.size() + 1);  // the last: of the CPU, for what is left
    std::vector<std::string> names;
    for (const Part& part : parts_) names.push_back(part.index ? part.index->device() : "");
    names.emplace_back("cpu");
    if (sharded()) {
        check_result_memory(search.searched, search.q, sizeof(std::int64_t) + sizeof(double));
        search.merged.resize(static_cast<std::size_t>(blocks));
    }
    // A budget that is too small is the caller's fault, not a device's.
    for (const std::size_t part : able)
        parts_[part].index->require_plan(search.rows(0), search.searched, graph ? points_.type : queries->type,
                                         search.call);
    std::vector<std::shared_ptr<void>> streams(parts_.size());  // of each device its own, for this call
    const scale::Outcome outcome =
        scale::run_blocks(static_cast<int>(count), sharded() ? blocks * count : blocks,
                          sharded() ? scale::Sharing::own : scale::Sharing::any, "search", progress,
                          [&](int thread, std::int64_t unit, ProgressMeter& own) {
                              const std::size_t part = able[static_cast<std::size_t>(thread)];
                              const std::int64_t block = sharded() ? unit / count : unit;
                              if (probe_.before) probe_.before(static_cast<int>(part), block);
                              const DeviceIndex& index = *parts_[part].index;
                              std::shared_ptr<void>& stream = streams[part];
                              if (!stream && index.prepared().gpu)
                                  stream = gpu::call_stream(index.prepared().plan.device);
                              if (sharded())
                                  block_of_part(search, part, index, stream.get(), block, own, reports[part]);
                              else block_of_all(search, index, stream.get(), block, own, reports[part]);
                          });
    std::vector<Fallback> failures = lost_;
    std::vector<std::size_t> failed;
    for (const scale::Failure& failure : outcome.failures) {
        const std::size_t part = able[static_cast<std::size_t>(failure.device)];
        failed.push_back(part);
        const std::int64_t block = sharded() ? failure.block / count : failure.block;
        failures.push_back(describe(failure.error, names[part], failure.block < 0 ? 0 : search.rows(block)));
    }
    run_left(search, outcome.left, failed, progress, reports);
    for (std::int64_t b = 0; b < static_cast<std::int64_t>(search.merged.size()); ++b) {
        Options options;
        options.f64 = call.f64;
        options.metric.id = metric_.id;
        options.metric.p = metric_.params.p;
        options.metric.packed_bits = metric_.params.packed_bits;
        const Neighbors found = finish(search.merged[static_cast<std::size_t>(b)], options);
        const NeighborsView to = rows_of(out, search.first(b), k, call.f64);
        if (graph) put_without_own(found, search.first(b), to);
        else put(found, to);
    }
    return total(reports, names, failures, search.q, points_.rows);
}

Report DeviceGroup::run(const MatrixView* queries, std::int64_t k, const Options& call, ProgressMeter& progress,
                        const NeighborsView& out) const {
    if (call.enqueue)
        throw Error(ErrorCode::invalid_argument, "enqueue: serves selections; a search has finished on return");
    const auto start = std::chrono::steady_clock::now();
    if (queries) settle(*queries);
    Report report;
    const bool of_self = !queries && call.include_self;
    // Rows that are put together on the host before they go to the caller's device.
    if (out.device != host_memory && (sharded() || (!queries && !of_self))) {
        const std::int64_t rows = queries ? queries->rows : points_.rows;
        const Neighbors found = collect(
            rows, k, call.f64, [&](const NeighborsView& into) { return run(queries, k, call, progress, into); });
        gpu::copy(out.ids, found.ids.data(), found.ids.size() * sizeof(std::int64_t));
        if (out.distances && call.f64)
            gpu::copy(out.distances, found.distances64.data(), found.distances64.size() * sizeof(double));
        else if (out.distances)
            gpu::copy(out.distances, found.distances.data(), found.distances.size() * sizeof(float));
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
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

}  // namespace kith::api
