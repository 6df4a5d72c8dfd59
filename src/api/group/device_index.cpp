// Points on one device: prepared once, planned for each call.
#include "api/group/device_index.h"

#include <fmt/format.h>

#include "api/data/self.h"
#include "api/request.h"
#include "exact/refuse.h"
#include "plan/by_selector.h"

namespace kith::api {

DeviceIndex::DeviceIndex(const MatrixView& points, const MetricSpec& metric, const Shape& shape,
                         const Options& options, bool copy, bool to_come, ProgressMeter& progress,
                         bool all_points)
    : memory_(options.memory), isa_(options.isa), to_come_(to_come) {
    prepared_ = with_less_memory(progress, [&](double share, bool& allocating) {
        bool reads_host = false;
        unregistered_.clear();
        const auto attempt = [&](bool ahead) {
            const Plan plan = plan_search(shape, metric, options, points.device, share, allocating,
                                          ahead, all_points);
            reads_host = plan.host_points != HostPoints::none;
            return prepare(points, metric, plan, copy, options, progress);
        };
        try {
            return attempt(to_come);
        } catch (const Error& error) {
            // The device cannot read this host memory: host-resident points stream instead. A
            // failed device fails again.
            if (!reads_host || error.code() != ErrorCode::device || progress.cancelled()) throw;
            unregistered_ = error.what();
        }
        return attempt(false);
    });
}

std::string DeviceIndex::device() const {
    return planner::spelled({prepared_.plan.device});
}

// `fresh`: in, ignore an earlier call's plan; out, the plan was made now.
std::shared_ptr<const Plan> DeviceIndex::plan(std::int64_t q, std::int64_t k, bool graph,
                                              ElementType query_type, const Options& call,
                                              double share, bool& fresh) const {
    const Remembered key{{prepared_.n, q, prepared_.d, k, query_type, graph},
                         call.path,
                         call.isa,
                         call.selector,
                         call.memory,
                         call.threads,
                         has_tree(),
                         late_bytes(call)};
    if (!fresh) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (lock && last_ && last_->first == key) return last_->second;
    }
    fresh = true;
    auto made = std::make_shared<const Plan>(make_plan(q, k, graph, query_type, call, share));
    if (share < 1) return made;  // memory was scarce: the next call asks again
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) last_.emplace(key, made);
    return made;
}

planner::Forms DeviceIndex::forms() const {
    using planner::Form;
    const auto found = [](bool is) { return is ? Form::ready : Form::absent; };
    const bool boxes = prepared_.cpu ? cpu::boxes_pay(*prepared_.cpu)
                                     : prepared_.gpu && gpu::boxes_pay(*prepared_.gpu);
    planner::Forms forms{.tree = found(has_tree()), .boxes = found(boxes)};
    if (!prepared_.gpu) return forms;
    forms.pca = found(gpu::has_projection(*prepared_.gpu));
    forms.clusters = found(in_clusters());
    return forms;
}

Plan DeviceIndex::make_plan(std::int64_t q, std::int64_t k, bool graph, ElementType query_type,
                            const Options& call, double share, bool all_points) const {
    const auto beside = [&](std::int64_t late) {
        return plan_beside(late, q, k, graph, query_type, call, share, all_points);
    };
    const std::int64_t late = late_bytes(call);
    if (late == 0) return beside(0);
    Plan alone = beside(0);
    try {
        Plan p = beside(late);
        if (p.path == alone.path && p.query_tile >= alone.query_tile) return p;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
    }
    gpu::forget_late(*prepared_.gpu);
    return alone;
}

Plan DeviceIndex::plan_beside(std::int64_t late, std::int64_t q, std::int64_t k, bool graph,
                              ElementType query_type, const Options& call, double share,
                              bool all_points) const {
    Options merged = call;
    merged.device = device();
    if (!merged.memory) merged.memory = memory_;
    if (merged.isa.empty()) merged.isa = isa_;
    const bool selector = planner::forces_selector(merged.selector);
    if (merged.path.empty() && !selector && prepared_.plan.path == Path::exact)
        merged.path = name(Path::exact);
    const ElementType type = query_type == ElementType::f64 ? ElementType::f64 : prepared_.type;
    const Shape shape{prepared_.n, q, prepared_.d, k, type, graph};
    const auto planned = [&] {
        planner::Request asked = request(shape, prepared_.metric, merged, host_memory);
        asked.points.chunk = prepared_.plan.chunk_points;
        asked.points.element = static_cast<std::int64_t>(size_of(prepared_.type));
        // If the points have no int8 form, nothing of them is on the device.
        const bool streams = prepared_.plan.host_points == HostPoints::bytes &&
                             !gpu::has_bytes_alone(*prepared_.gpu);
        asked.points.host = streams ? HostPoints::none : prepared_.plan.host_points;
        asked.points.path = prepared_.plan.path;
        asked.share = share;
        asked.points.late_bytes = late;
        asked.points.prepared = to_come_;
        asked.points.forms = forms();
        asked.all_points = all_points;
        return planner::make(asked, machine(merged.device));
    };
    Plan p = planned();
    // Filters other than the prepared one are made at first use.
    const bool served = p.path == Path::exact || prepared_.plan.path != Path::exact;
    if (!served) {
        if (!call.path.empty())
            refuse("path: '{}'; this index was prepared for {}", name(p.path),
                   name(prepared_.plan.path));
        if (selector)
            refuse("selector: '{}' needs a filter; this index was prepared for {}", merged.selector,
                   name(prepared_.plan.path));
        merged.path = name(Path::exact);
        p = planned();
    }
    return p;
}

void DeviceIndex::require_plan(std::int64_t q, std::int64_t k, ElementType query_type,
                               const Options& call) const {
    if (call.memory == 0 && memory_ == 0) return;
    bool fresh = false;
    plan(q, k, false, query_type, call, 1, fresh);
}

void DeviceIndex::add_fallback(std::int64_t q, Report& report) const {
    if (unregistered_.empty()) return;
    report.fallbacks.push_back(
        {q, false, "the device cannot read the points where they lie: " + unregistered_,
         "host memory that can be registered; until then they stream through it in each call"});
}

Report DeviceIndex::run(const MatrixView& queries, std::int64_t k, bool graph, const Options& call,
                        ProgressMeter& progress, const NeighborsView& out, bool keys) const {
    const std::int64_t searched = searched_k(k, graph, call);
    const bool any_memory = prepared_.gpu && call.memory == 0 && memory_ == 0;
    return with_less_memory(progress, [&](double share, bool& allocating) {
        bool fresh = share < 1;  // reuse an earlier plan until memory proves scarcer
        if (fresh && prepared_.gpu) gpu::forget_late(*prepared_.gpu);
        const std::shared_ptr<const Plan> made =
            plan(queries.rows, searched, graph, queries.type, call, share, fresh);
        allocating = any_memory || !fresh;
        Report report = run_rows(prepared_, {queries, k, graph, *made, call, progress, out, keys});
        add_fallback(queries.rows, report);
        return report;
    });
}

}  // namespace kith::api
