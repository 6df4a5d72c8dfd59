// Points prepared on one device, and searches of them that are planned for it: what an Index has of
// each device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "api/run.h"
#include "kith/plan.h"
#include "plan/planner.h"

namespace kith::api {

class DeviceIndex {
public:
    // Validated points on the device that `options` names, prepared for searches of that shape.
    // `copy`: they outlive the caller's memory. `to_come`: there may be many such searches.
    // `all_points`: for points within radii alone. Throws what planning and preparing throw.
    DeviceIndex(const MatrixView& points, const MetricSpec& metric, const Shape& shape,
                const Options& options, bool copy, bool to_come, ProgressMeter& progress,
                bool all_points = false);

    const Prepared& prepared() const { return prepared_; }
    // "cpu" or "cuda:N".
    std::string device() const;
    // The points as the backend keeps them.
    MatrixView points() const {
        return prepared_.cpu ? cpu::elements(*prepared_.cpu) : gpu::elements(*prepared_.gpu);
    }

    // Validated queries; of a graph, points(). `keys`: distances are distance keys, and call.f64 is
    // set. Several threads at once.
    Report run(const MatrixView& queries, std::int64_t k, bool graph, const Options& call,
               ProgressMeter& progress, const NeighborsView& out, bool keys = false) const;

    // The plan of a call that passes all points once, whatever it keeps of them.
    std::shared_ptr<const Plan> plan_of(std::int64_t q, ElementType query_type,
                                        const Options& call) const {
        bool fresh = false;
        std::shared_ptr<const Plan> found = plan(q, 1, false, query_type, call, 1, fresh);
        const bool some = found->path == Path::projected || found->path == Path::gemm_i8 ||
                          found->path == Path::clustered || in_clusters() ||
                          (found->path == Path::tree && found->device != host_memory);
        if (some)
            return std::make_shared<const Plan>(make_plan(q, 1, false, query_type, call, 1, true));
        return found;
    }

    // Says of a call of q queries that the device cannot read the points where they lie.
    void add_fallback(std::int64_t q, Report& report) const;

    // Throws out_of_memory where a budget that was asked for does not suffice for a search of q
    // queries.
    void require_plan(std::int64_t q, std::int64_t k, ElementType query_type,
                      const Options& call) const;

private:
    // The plan of the last call, for calls of the same shape: asking a device for its free memory
    // takes as long as a small search does.
    struct Remembered {
        Shape shape;
        std::string path, isa, selector;
        std::int64_t memory = 0;
        int threads = 0;
        bool has_tree = false;
        bool operator==(const Remembered&) const = default;
    };

    std::shared_ptr<const Plan> plan(std::int64_t q, std::int64_t k, bool graph,
                                     ElementType query_type, const Options& call, double share,
                                     bool& fresh) const;
    Plan make_plan(std::int64_t q, std::int64_t k, bool graph, ElementType query_type,
                   const Options& call, double share, bool all_points = false) const;
    planner::Forms forms() const;
    bool has_tree() const {
        return prepared_.cpu ? cpu::has_tree(*prepared_.cpu)
                             : prepared_.gpu && gpu::has_tree(*prepared_.gpu);
    }

    bool in_clusters() const { return prepared_.gpu && gpu::has_clusters(*prepared_.gpu); }

    // Of the options that it was made with.
    std::int64_t memory_;
    std::string isa_;
    bool to_come_;
    std::string
        unregistered_;  // why points that would have stayed in host memory stream; "": they do not
    Prepared prepared_;
    mutable std::mutex mutex_;  // only tried: in a child it may be held by a thread of the parent
    mutable std::optional<std::pair<Remembered, std::shared_ptr<const Plan>>> last_;
};

}  // namespace kith::api
