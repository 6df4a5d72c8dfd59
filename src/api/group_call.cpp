// Dispatch and takeover; see group_call.h.
#include "api/group_call.h"

#include <algorithm>

#include "api/group_report.h"
#include "api/host_view.h"
#include "exact/ceil_div.h"
#include "gpu/backend.h"
#include "kith/error.h"
#include "scale/blocks.h"

namespace kith::api {

struct GroupCall::Run {
    std::int64_t first, q, block;
    const Work& work;

    std::int64_t rows(std::int64_t b) const { return std::min(block, q - b * block); }
};

GroupCall::GroupCall(const DeviceGroup& group, const Options& call, ProgressMeter& progress)
    : group_(group),
      call_(call),
      progress_(progress),
      reports_(group.parts_.size() + 1),
      failures_(group.lost_),
      failed_(group.parts_.size(), 0),
      streams_(group.parts_.size()),
      moved_(group.parts_.size()) {
    call_.progress = nullptr;
    call_.stream = nullptr;
    call_.include_self = false;
    call_.device.clear();
    on_cpu_ = on_cpu(call_);
    for (const DeviceGroup::Part& part : group.parts_)
        names_.push_back(part.index ? part.index->device() : "");
    names_.emplace_back("cpu");
}

std::size_t GroupCall::parts() const {
    return group_.sharded() ? group_.parts_.size() : 1;
}

std::int64_t GroupCall::block_queries(std::int64_t q) const {
    if (group_.probe_.block_queries > 0) return group_.probe_.block_queries;
    return planner::block_queries(q, group_.at_once_, group_.devices_.size(), group_.kind_);
}

void GroupCall::require_plan(std::int64_t rows, std::int64_t k, ElementType type) const {
    for (const DeviceGroup::Part& part : group_.parts_)
        if (part.index) part.index->require_plan(rows, k, type, call_);
}

void GroupCall::run_task(const Run& run, const DeviceIndex& index, std::size_t part,
                         std::int64_t block, void* stream, ProgressMeter& progress,
                         Report& report) const {
    // Where GPUs were asked for, the CPU that stands in for them has paths of its own.
    const bool stands_in = index.prepared().cpu && group_.kind_ != planner::Kind::cpus;
    Options call = stands_in ? on_cpu_ : call_;
    call.stream = stream;
    const bool sharded = group_.sharded();
    run.work({.index = index,
              .part = sharded ? part : 0,
              .first_point = sharded ? group_.parts_[part].first : 0,
              .block = block,
              .first = run.first + block * run.block,
              .rows = run.rows(block),
              .call = call,
              .progress = progress,
              .report = report});
}

void GroupCall::run(std::int64_t first, std::int64_t q, std::int64_t block, const Work& work) {
    const Run run{first, q, block, work};
    const std::int64_t blocks = exact::ceil_div(q, block);
    const bool sharded = group_.sharded();
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < failed_.size(); ++i)
        if (group_.parts_[i].index && !failed_[i]) able.push_back(i);
    const auto count = static_cast<std::int64_t>(able.size());
    // Blocks that no device has done, in shards those of each part.
    std::vector<std::vector<std::int64_t>> left(failed_.size());
    const auto leave_all = [&](std::size_t part) {
        for (std::int64_t b = 0; b < blocks; ++b) left[part].push_back(b);
    };
    if (sharded) {
        for (std::size_t i = 0; i < failed_.size(); ++i)
            if (failed_[i]) leave_all(i);
    } else if (count == 0) {
        leave_all(0);
    }
    if (count > 0) {
        const scale::Outcome outcome =
            scale::run_blocks(static_cast<int>(count), sharded ? blocks * count : blocks,
                              sharded ? scale::Sharing::own : scale::Sharing::any, "search",
                              progress_, [&](int thread, std::int64_t unit, ProgressMeter& own) {
                                  const std::size_t part = able[static_cast<std::size_t>(thread)];
                                  const std::int64_t b = sharded ? unit / count : unit;
                                  if (group_.probe_.before)
                                      group_.probe_.before(static_cast<int>(part), blocks_ + b);
                                  const DeviceIndex& index = *group_.parts_[part].index;
                                  std::shared_ptr<void>& stream = streams_[part];
                                  if (!stream && index.prepared().gpu)
                                      stream = gpu::call_stream(index.prepared().plan.device);
                                  run_task(run, index, part, b, stream.get(), own, reports_[part]);
                              });
        for (const scale::Failure& failure : outcome.failures) {
            const std::size_t part = able[static_cast<std::size_t>(failure.device)];
            failed_[part] = 1;
            const std::int64_t b = sharded ? failure.block / count : failure.block;
            failures_.push_back(
                describe(failure.error, names_[part], failure.block < 0 ? 0 : run.rows(b)));
        }
        for (const std::int64_t unit : outcome.left)
            left[sharded ? able[static_cast<std::size_t>(unit % count)] : 0].push_back(
                sharded ? unit / count : unit);
    }
    for (std::size_t part = 0; part < left.size(); ++part)
        if (!left[part].empty()) take_over(run, part, std::move(left[part]));
    blocks_ += blocks;
}

// What devices have left that failed, when no other was there to take it.
void GroupCall::take_over(const Run& run, std::size_t part, std::vector<std::int64_t> blocks) {
    const std::size_t parts = failed_.size();
    Moved& moved = moved_[part];
    if (!moved.points.data) {
        if (!group_.sharded()) {
            moved.points = group_.all_points(moved.storage);
            moved.to = parts;       // every device has had them
        } else if (group_.copy_) {  // the device may still give them back
            moved.points = on_host(group_.parts_[part].index->points(), moved.storage);
        } else {
            moved.points = group_.part_of(group_.points_, part);
        }
    }
    std::reverse(blocks.begin(), blocks.end());
    while (!blocks.empty()) {
        const bool cpu = moved.to == parts;
        if (!cpu && failed_[moved.to]) {
            moved.index.reset();
            ++moved.to;
            continue;
        }
        try {
            if (!moved.index)
                moved.index =
                    group_.prepared(cpu ? "cpu" : names_[moved.to], moved.points, false, progress_);
            for (; !blocks.empty(); blocks.pop_back())
                run_task(run, *moved.index, part, blocks.back(), nullptr, progress_,
                         reports_[moved.to]);
        } catch (const Error& error) {
            if (cpu ||
                (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device))
                throw;
            moved.index.reset();
            ++moved.to;
        }
    }
}

Report GroupCall::report(std::int64_t q) const {
    return total(reports_, names_, failures_, q, group_.points_.rows);
}

}  // namespace kith::api
