// One call on the devices of a group. Blocks of its queries go to any free device; with shards each
// block goes to every part's device. Work of a failed device goes to the others, finally to the
// CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/group/device_group.h"

namespace kith::api {

// A block of queries on one device. A task that throws may be repeated on another device.
struct GroupTask {
    const DeviceIndex& index;
    std::size_t part;          // of the points; 0 if they are not sharded
    std::int64_t first_point;  // of the part
    std::int64_t block;        // of this run
    std::int64_t first, rows;  // queries
    const Options& call;       // with the device's own stream
    ProgressMeter& progress;
    Report& report;  // of the device; counters are added to it
};

class GroupCall {
public:
    // Takes the caller's options, except those that concern a whole call.
    GroupCall(const DeviceGroup& group, const Options& call, ProgressMeter& progress);

    // Number of parts that each block needs; 1 if each device has all points.
    std::size_t parts() const;
    // Queries per block on a device, out of q.
    std::int64_t block_queries(std::int64_t q) const;
    // Throws out_of_memory if the caller's memory budget is too small, which is no fault of a
    // device.
    void require_plan(std::int64_t rows, std::int64_t k, ElementType type) const;

    using Work = std::function<void(const GroupTask&)>;
    // Runs queries [first, first + q) in blocks: each block once, with shards once per part. Uses
    // one thread per device; a single task runs without additional threads. Throws the caller's
    // errors, and those of the CPU.
    void run(std::int64_t first, std::int64_t q, std::int64_t block, const Work& work);

    // The report of all runs, which have answered q queries.
    Report report(std::int64_t q) const;

private:
    struct Run;
    // The points of a failed device, on another device.
    struct Moved {
        std::vector<std::byte> storage;
        MatrixView points;
        std::size_t to = 0;  // part with the device that now holds them; one past the last: the CPU
        std::unique_ptr<DeviceIndex> index;
    };

    void run_task(const Run& run, const DeviceIndex& index, std::size_t part, std::int64_t block,
                  void* stream, ProgressMeter& progress, Report& report) const;
    void take_over(const Run& run, std::size_t part, std::vector<std::int64_t> blocks);

    const DeviceGroup& group_;
    Options call_, on_cpu_;
    ProgressMeter& progress_;
    std::vector<std::string> names_;
    std::vector<Report> reports_;  // one per part's device; the last: the CPU, for remaining blocks
    std::vector<Fallback> failures_;
    std::vector<char> failed_;
    std::vector<std::shared_ptr<void>> streams_;  // one per device
    std::vector<Moved> moved_;
    std::int64_t blocks_ = 0;  // of earlier runs
};

}  // namespace kith::api
