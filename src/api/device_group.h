// Points on several devices of one host, and searches that these share. The answer is that of one
// device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/device_index.h"
#include "plan/planner.h"

namespace kith::api {

// The devices that Options::device names, as "cpu" or "cuda:N" each; none where it names no list of
// several.
std::vector<std::string> devices_of(const Options& options);

// Work of the program's own on the device where a matrix lies is over, on any stream: others read
// it in no order with that device.
void settle(const MatrixView& view);
// The same on the CPU, which has paths and instruction sets of its own.
Options on_cpu(Options options);

struct GroupTask;  // group_call.h

// What tests force: nothing of it changes an answer.
struct GroupProbe {
    // Called on a device's thread before it prepares its points (block -1) and before each block.
    std::function<void(int device, std::int64_t block)> before;
    std::int64_t shard_points = 0;   // as if no more fitted on one device; 0: what fits
    std::int64_t block_queries = 0;  // 0: the planner's
};

class DeviceGroup {
public:
    // Validated points on each of `devices`, which tests name more than once; where they are too
    // many for one, a shard on each. `shape`: of the searches to come. `all_points`: for points
    // within radii alone. A device that fails is left out; where all do, the CPU has the points.
    DeviceGroup(const MatrixView& points, const MetricSpec& metric,
                std::vector<std::string> devices, const Shape& shape, const Options& options,
                bool copy, ProgressMeter& progress, GroupProbe probe = {}, bool all_points = false);

    // "cuda:0,1": as Options::device names them.
    std::string device() const;
    double prepare_seconds() const { return seconds_; }
    std::int64_t points() const { return points_.rows; }
    ElementType type() const { return points_.type; }
    std::int64_t devices() const { return std::ssize(devices_); }
    // The points: the caller's, or from the devices that have them, in `storage`.
    MatrixView all_points(std::vector<std::byte>& storage) const;

    // Validated queries; null: the points among themselves. Several threads at once.
    Report run(const MatrixView* queries, std::int64_t k, const Options& call,
               ProgressMeter& progress, const NeighborsView& out) const;

private:
    friend class GroupCall;
    struct Search;
    // Points from `first` on, and where they are; no index where the device has failed and others
    // have them.
    struct Part {
        std::int64_t first = 0;
        std::unique_ptr<DeviceIndex> index;
    };

    bool sharded() const { return part_points_ < points_.rows; }
    MatrixView part_of(const MatrixView& points, std::size_t part) const;
    std::unique_ptr<DeviceIndex> prepared(const std::string& device, const MatrixView& points,
                                          bool copy, ProgressMeter& progress) const;
    void plan_parts();
    void prepare_parts(ProgressMeter& progress);

    static void block_of_all(const Search& search, const GroupTask& task);
    static void block_of_part(Search& search, const GroupTask& task);
    Report search_blocks(const MatrixView* queries, std::int64_t k, const Options& call,
                         ProgressMeter& progress, const NeighborsView& out) const;

    MatrixView points_;  // the caller's; with copy_ only its sizes are used after the constructor
    MetricSpec metric_;
    Shape shape_;
    Options options_;
    bool copy_, for_radius_;
    GroupProbe probe_;
    std::vector<std::string> devices_;
    planner::Kind kind_ = planner::Kind::cpus;
    std::int64_t part_points_ = 0;
    std::int64_t at_once_ = 0;  // queries that one device searches together
    std::vector<Part>
        parts_;  // that of devices_[i] is part i; one more on the CPU where all have failed
    std::vector<Fallback> lost_;  // devices that failed when the points were prepared
    double seconds_ = 0;
};

}  // namespace kith::api
