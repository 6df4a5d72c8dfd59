// Points on several devices of one host, and searches that they share. The answer equals that of
// one device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/group/device_index.h"
#include "plan/planner.h"

namespace kith::api {

// The devices that Options::device names, as "cpu" or "cuda:N" each; empty unless it names several.
std::vector<std::string> devices_of(const Options& options);

// Waits for the program's own work on the device that holds the matrix, on all streams: other
// devices read it without ordering.
void settle(const MatrixView& view);
// The options for the CPU, which has paths and instruction sets of its own.
Options on_cpu(Options options);

struct GroupTask;  // group_call.h

// Overrides for tests; they never change an answer.
struct GroupProbe {
    // Called on a device's thread before it prepares its points (block -1) and before each block.
    std::function<void(int device, std::int64_t block)> before;
    std::int64_t shard_points = 0;   // pretend that no more fit on one device; 0: the actual number
    std::int64_t block_queries = 0;  // 0: the planner's choice
};

class DeviceGroup {
public:
    // Places validated points on each of `devices`, which tests may name repeatedly; if they do not
    // fit on one, a shard on each. `shape`: of the searches to come. `all_points`: for range
    // queries only. A failed device is left out; if all fail, the CPU takes the points.
    DeviceGroup(const MatrixView& points, const MetricSpec& metric,
                std::vector<std::string> devices, const Shape& shape, const Options& options,
                bool copy, ProgressMeter& progress, GroupProbe probe = {}, bool all_points = false);

    // For example "cuda:0,1", in the syntax of Options::device.
    std::string device() const;
    double prepare_seconds() const { return seconds_; }
    std::int64_t points() const { return points_.rows; }
    ElementType type() const { return points_.type; }
    std::int64_t devices() const { return std::ssize(devices_); }
    // The points: the caller's, or copied from the devices to `storage`.
    MatrixView all_points(std::vector<std::byte>& storage) const;

    // Searches validated queries; null: the points among themselves. Safe for concurrent use.
    Report run(const MatrixView* queries, std::int64_t k, const Options& call,
               ProgressMeter& progress, const NeighborsView& out) const;

private:
    friend class GroupCall;
    struct Search;
    // A shard of points from `first` on, and its index; null if the device has failed and others
    // have the points.
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

    MatrixView points_;  // the caller's; with copy_ only its shape is valid after the constructor
    MetricSpec metric_;
    Shape shape_;
    Options options_;
    bool copy_, for_radius_;
    GroupProbe probe_;
    std::vector<std::string> devices_;
    planner::Kind kind_ = planner::Kind::cpus;
    std::int64_t part_points_ = 0;
    std::int64_t at_once_ = 0;    // queries per search of one device
    std::vector<Part> parts_;     // parts_[i] is on devices_[i]; one more on the CPU if all failed
    std::vector<Fallback> lost_;  // devices that failed during preparation
    double seconds_ = 0;
};

}  // namespace kith::api
