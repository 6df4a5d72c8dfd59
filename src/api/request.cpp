// Converts options, metric and machine to the planner's plain structs.
#include "api/request.h"

#include <string>

#include "api/check/validate.h"
#include "cpu/metric/kernels.h"
#include "cpu/simd/isa.h"
#include "exact/direct_form.h"
#include "exact/refuse.h"
#include "formula/error_bound.h"
#include "formula/symmetry.h"
#include "gpu/backend.h"
#include "kith/functor.h"
#include "machine/memory.h"
#include "machine/parallel.h"
#include "papers/plan.h"

namespace kith::api {

int threads_of(const Options& o) {
    if (o.threads < 0 || o.threads > 4096)
        refuse("threads: {}; expected 0 (all) to 4096", o.threads);
    return o.threads > 0 ? o.threads : machine::default_threads();
}

planner::MetricFacts facts(const MetricSpec& m) {
    planner::MetricFacts f;
    f.id = m.id;
    f.user = is_user_metric(m.id);
    f.user_device = m.id != MetricId::functor || m.functor->device;
    f.traits = traits_of(m.id);
    f.has_aux = !f.user && cpu::metric_kernels(m.id, cpu::Isa::baseline).aux > 0;
    // Some parameters, such as a large exponent, leave the direct form without a bound.
    if (!exact::direct_form(f.traits, m.params, ElementType::f32))
        f.traits.direct = metric::Direct::none;
    if (m.id == MetricId::formula)
        f.unbounded = m.formula ? formula::why_no_bound(*m.formula, m.start, m.params.d)
                                : "its text is not known";
    f.rounds = exact::direct_form(f.traits, m.params, ElementType::f64).has_value();
    return f;
}

planner::Machine machine(const std::string& device, std::int64_t assumed) {
    planner::Machine m;
    m.isa = cpu::name(cpu::best_isa());
    m.bf16 = cpu::supports_bf16();
    m.vnni = cpu::supports_vnni();
    m.threads = machine::default_threads();
    m.free_bytes = machine::recently_free_memory();
    if (device == "cpu") return m;
    m.no_device = gpu::absence();
    m.products_absence = papers::products_absence;
    const int count = gpu::device_count();
    for (int i = 0; i < count; ++i) {
        gpu::DeviceInfo info = gpu::device_facts(i);
        if (!assumed) {
            try {
                info = gpu::device_info(i);
            } catch (const Error&) {
                // A failed device offers no memory and does not hinder the others.
                if (count == 1 || device == "cuda:" + std::to_string(i)) throw;
                info.free_bytes = 0;
            }
        }
        m.devices.push_back({info.name, info.capability, assumed ? assumed : info.free_bytes,
                             info.multiprocessors});
    }
    return m;
}

planner::Request request(const Shape& shape, const MetricSpec& metric, const Options& o,
                         int data_device) {
    if (o.memory < 0) refuse("memory: {}; expected bytes, or 0 for most of what is free", o.memory);
    planner::Request r;
    r.shape = shape;
    r.metric = facts(metric);
    r.device = o.device;
    r.data_device = data_device;
    r.memory = o.memory;
    r.threads = threads_of(o);
    r.path = o.path;
    if (o.isa == "sm_80" || o.isa == "sm_90a") r.isa = o.isa;
    else if (!o.isa.empty()) r.isa = cpu::name(cpu::isa_named(o.isa));
    r.selector = o.selector;
    if (!o.order.empty() && o.order != "ascending" && o.order != "descending")
        refuse("order: '{}'; expected ascending, descending or nothing", o.order);
    r.selected.order = o.order;
    r.selected.largest = o.largest;
    r.selected.sorted = o.sorted;
    r.selected.lengths = o.lengths.data != nullptr;
    r.selected.enqueue = o.enqueue;
    return r;
}

Plan plan_search(const Shape& shape, const MetricSpec& metric, const Options& options,
                 int data_device, double share, bool& allocating, bool prepared, bool all_points) {
    planner::Request asked = request(shape, metric, options, data_device);
    asked.share = share;
    asked.points.prepared = asked.ahead = prepared;
    asked.all_points = all_points;
    Plan plan = planner::make(asked, machine(options.device));
    allocating = plan.device != host_memory && options.memory == 0;
    return plan;
}

// Free device memory assumed for a small selection: asking for it would take longer.
constexpr std::int64_t assumed_free = std::int64_t{256} << 20;

Plan plan_selection(const MatrixView& m, std::int64_t k, const Options& options, bool explained) {
    planner::Request asked =
        request({m.cols, m.rows, 1, k, m.type, false}, MetricSpec{}, options, m.device);
    asked.selected.explained = explained;
    if (options.memory == 0 && m.device != host_memory) {
        const planner::Machine here = machine(options.device, assumed_free);
        if (planner::selection_bytes(asked, here) <= assumed_free / 2.0)
            return planner::selection(asked, here);
    }
    return planner::selection(asked, machine(options.device));
}

bool is_symmetric(const Metric& metric) {
    switch (metric.id) {
        case MetricId::formula:
            return formula::symmetric(formula::parse(metric.formula));
        // The sine of the opposite angle need not be exactly the opposite sine.
        case MetricId::haversine:
        case MetricId::kl_divergence:
        case MetricId::functor:
            return false;
        default:
            return true;
    }
}

}  // namespace kith::api
