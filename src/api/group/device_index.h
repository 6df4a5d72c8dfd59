// Points prepared on one device, and searches of them planned for it: an Index has one per device.
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
    // Prepares validated points on the device that `options` names, for searches of this shape.
    // `copy`: they outlive the caller's memory. `to_come`: many such searches may follow.
    // `all_points`: for range queries only. Throws what planning and preparation throw.
    DeviceIndex(const MatrixView& points, const MetricSpec& metric, const Shape& shape,
                const Options& options, bool copy, bool to_come, ProgressMeter& progress,
                bool all_points = false);

    const Prepared& prepared() const { return prepared_; }
    // "cpu" or "cuda:N".
    std::string device() const;
    // The points in the backend's storage.
    MatrixView points() const {
        return prepared_.cpu ? cpu::elements(*prepared_.cpu) : gpu::elements(*prepared_.gpu);
    }

    // Searches validated queries; for a graph, points(). `keys`: distances are distance keys;
    // requires call.f64. Safe for concurrent use.
    Report run(const MatrixView& queries, std::int64_t k, bool graph, const Options& call,
               ProgressMeter& progress, const NeighborsView& out, bool keys = false) const;

    // The plan of a call that passes over all points once, independent of how many results it
    // keeps.
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

    // Adds to the report that the device cannot read the points in place, for a call of q queries.
    void add_fallback(std::int64_t q, Report& report) const;

    // Throws out_of_memory if an explicit memory budget is too small for a search of q queries.
    void require_plan(std::int64_t q, std::int64_t k, ElementType query_type,
                      const Options& call) const;

private:
    // The plan of the last call, for calls of the same shape: asking a device for its free memory
    // takes as long as a small search.
    struct Remembered {
        Shape shape;
        std::string path, isa, selector;
        std::int64_t memory = 0;
        int threads = 0;
        bool has_tree = false;
        std::int64_t late_bytes = 0;
        bool operator==(const Remembered&) const = default;
    };

    std::shared_ptr<const Plan> plan(std::int64_t q, std::int64_t k, bool graph,
                                     ElementType query_type, const Options& call, double share,
                                     bool& fresh) const;
    // With the forms that searches have made of the points on a GPU, if there is a budget. Where
    // tiles would be smaller for them, it releases them.
    Plan make_plan(std::int64_t q, std::int64_t k, bool graph, ElementType query_type,
                   const Options& call, double share, bool all_points = false) const;
    Plan plan_beside(std::int64_t late, std::int64_t q, std::int64_t k, bool graph,
                     ElementType query_type, const Options& call, double share,
                     bool all_points) const;
    std::int64_t late_bytes(const Options& call) const {
        return prepared_.gpu && (call.memory > 0 || memory_ > 0) ? gpu::late_bytes(*prepared_.gpu)
                                                                 : 0;
    }
    planner::Forms forms() const;
    bool has_tree() const {
        return prepared_.cpu ? cpu::has_tree(*prepared_.cpu)
                             : prepared_.gpu && gpu::has_tree(*prepared_.gpu);
    }

    bool in_clusters() const { return prepared_.gpu && gpu::has_clusters(*prepared_.gpu); }

    // From the options of the constructor.
    std::int64_t memory_;
    std::string isa_;
    bool to_come_;
    std::string unregistered_;  // why host-resident points stream instead; "": they do not
    Prepared prepared_;
    // used with try_lock only: after fork() a parent's thread may hold it
    mutable std::mutex mutex_;
    mutable std::optional<std::pair<Remembered, std::shared_ptr<const Plan>>> last_;
};

}  // namespace kith::api
