// One call on the devices of a group: blocks of its queries to whichever device is free, or in
// shards to each, and what a device leaves that fails to the others, at last to the CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/device_group.h"

namespace kith::api {

// A block of queries on one device. A task that throws may be given again, to another device.
struct GroupTask {
    const DeviceIndex& index;
    std::size_t part;          // of the points: 0 where they are no shards
    std::int64_t first_point;  // of the part
    std::int64_t block;        // of this run
    std::int64_t first, rows;  // queries
    const Options& call;       // with the device's own stream
    ProgressMeter& progress;
    Report& report;  // of the device, to be added to
};

class GroupCall {
public:
    // What the caller's options ask for, but for those that concern a whole call.
    GroupCall(const DeviceGroup& group, const Options& call, ProgressMeter& progress);

    // Parts of the points, of which each block needs all; 1 where each device has all points.
    std::size_t parts() const;
    // Of q queries those that a device takes at a time.
    std::int64_t block_queries(std::int64_t q) const;
    // Throws out_of_memory where a budget of the caller's is too small: no fault of a device.
    void require_plan(std::int64_t rows, std::int64_t k, ElementType type) const;

    using Work = std::function<void(const GroupTask&)>;
    // Queries [first, first + q) in blocks: each block once, in shards once for each of these, on
    // threads of the devices (of one task none beside). Throws what is the caller's fault, and what
    // the CPU throws.
    void run(std::int64_t first, std::int64_t q, std::int64_t block, const Work& work);

    // Of all runs, which have answered q queries.
    Report report(std::int64_t q) const;

private:
    struct Run;
    // The points of a device that has failed, on another.
    struct Moved {
        std::vector<std::byte> storage;
        MatrixView points;
        std::size_t to = 0;  // part on whose device they are; behind the last: the CPU
        std::unique_ptr<DeviceIndex> index;
    };

    void run_task(const Run& run, const DeviceIndex& index, std::size_t part, std::int64_t block,
                  void* stream, ProgressMeter& progress, Report& report) const;
    void take_over(const Run& run, std::size_t part, std::vector<std::int64_t> blocks);

    const DeviceGroup& group_;
    Options call_, on_cpu_;
    ProgressMeter& progress_;
    std::vector<std::string> names_;
    std::vector<Report> reports_;  // of each part's device; the last: of the CPU, for what is left
    std::vector<Fallback> failures_;
    std::vector<char> failed_;
    std::vector<std::shared_ptr<void>> streams_;  // of each device its own
    std::vector<Moved> moved_;
    std::int64_t blocks_ = 0;  // of earlier runs
};

}  // namespace kith::api
