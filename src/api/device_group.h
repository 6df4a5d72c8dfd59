// Points on several devices of one host, and searches that these share. The answer is that of one device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/device_index.h"
#include "plan/planner.h"

namespace kith::api {

// The devices that Options::device names, as "cpu" or "cuda:N" each; none where it names no list of several.
std::vector<std::string> devices_of(const Options& options);

// What tests force: nothing of it changes an answer.
struct GroupProbe {
    // Called on a device's thread before it prepares its points (block -1) and before each block.
    std::function<void(int device, std::int64_t block)> before;
    std::int64_t shard_points = 0;   // as if no more fitted on one device; 0: what fits
    std::int64_t block_queries = 0;  // 0: the planner's
};

class DeviceGroup {
public:
    // Validated points on each of `devices`, which tests name more than once; where they are too many for one, a shard
    // on each. `shape`: of the searches to come. A device that fails is left out; where all do, the CPU has the points.
    DeviceGroup(const MatrixView& points, const MetricSpec& metric, std::vector<std::string> devices,
                const Shape& shape, const Options& options, bool copy, ProgressMeter& progress, GroupProbe probe = {});

    // "cuda:0,1": as Options::device names them.
    std::string device() const;
    double prepare_seconds() const { return seconds_; }
    // The points: the caller's, or from the devices that have them, in `storage`.
    MatrixView all_points(std::vector<std::byte>& storage) const;

    // Validated queries; null: the points among themselves. Several threads at once.
    Report run(const MatrixView* queries, std::int64_t k, const Options& call, ProgressMeter& progress,
               const NeighborsView& out) const;

private:
    struct Search;
    // Points from `first` on, and where they are; no index where the device has failed and others have them.
    struct Part {
        std::int64_t first = 0;
        std::unique_ptr<DeviceIndex> index;
    };

    bool sharded() const { return part_points_ < points_.rows; }
    MatrixView part_of(const MatrixView& points, std::size_t part) const;
    std::unique_ptr<DeviceIndex> prepared(const std::string& device, const MatrixView& points, bool copy,
                                          ProgressMeter& progress) const;
    void plan_parts();
    void prepare_parts(ProgressMeter& progress);

    void block_of_all(const Search& search, const DeviceIndex& index, void* stream, std::int64_t block,
                      ProgressMeter& progress, Report& report) const;
    void block_of_part(Search& search, std::size_t part, const DeviceIndex& index, void* stream, std::int64_t block,
                       ProgressMeter& progress, Report& report) const;
    void run_left(Search& search, const std::vector<std::int64_t>& left, const std::vector<std::size_t>& failed,
                  ProgressMeter& progress, std::vector<Report>& reports) const;
    Report search_blocks(const MatrixView* queries, std::int64_t k, const Options& call, ProgressMeter& progress,
                         const NeighborsView& out) const;

    MatrixView points_;  // the caller's; with copy_ only its sizes are used after the constructor
    MetricSpec metric_;
    Shape shape_;
    Options options_;
    bool copy_;
    GroupProbe probe_;
    std::vector<std::string> devices_;
    planner::Kind kind_ = planner::Kind::cpus;
    std::int64_t part_points_ = 0;
    std::int64_t at_once_ = 0;    // queries that one device searches together
    std::vector<Part> parts_;     // that of devices_[i] is part i; one more on the CPU where all have failed
    std::vector<Fallback> lost_;  // devices that failed when the points were prepared
    double seconds_ = 0;
};

}  // namespace kith::api
