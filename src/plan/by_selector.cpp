// Searches with a forced selector: the device that serves it, and the distances that it selects
// from.
#include "plan/by_selector.h"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/select/selectors.h"
#include "exact/refuse.h"
#include "gpu/select/selectors.h"
#include "papers/plan.h"
#include "plan/attempts.h"

namespace kith::planner {

namespace {

// All distances in binary64, for as many queries at a time as the budget and 1 GiB hold.
Plan on_cpu(const Request& r, const Machine& machine, const cpu::Selector& selector) {
    if (!r.path.empty() && r.path != name(Path::exact))
        refuse(
            "selector: '{}' selects among all distances on a CPU; path is '{}', expected exact or "
            "none",
            r.selector, r.path);
    const std::int64_t n = r.shape.n, kept = std::min(r.shape.k, n);
    if (kept < selector.min_k || (selector.max_k > 0 && kept > selector.max_k))
        refuse("selector: '{}' serves k from {} to {}; k is {}", r.selector, selector.min_k,
               selector.max_k > 0 ? std::to_string(selector.max_k) : "the number of points",
               r.shape.k);
    Request own = r;
    own.path = name(Path::exact);
    own.selector.clear();
    Plan p = make(own, machine);
    // Per query: its distance keys, and the selected ones. Per thread: a selector's copy of a row,
    // and tiles of rows.
    const double each = 8 * static_cast<double>(n) + 16 * static_cast<double>(kept),
                 fixed = (16 * static_cast<double>(n) + (1 << 20)) * p.threads,
                 budget = cpu_budget(r, machine, each + fixed);
    constexpr double most_bytes = 1 << 30;
    constexpr std::int64_t queries_of_thread = 64;
    const auto fit =
        static_cast<std::int64_t>(std::min(budget - fixed, std::max(most_bytes, each)) / each);
    p.query_tile = std::clamp<std::int64_t>(
        fit, 1, std::max<std::int64_t>(std::min(r.shape.q, queries_of_thread * p.threads), 1));
    p.point_tile = n;
    p.candidate_capacity = 0;
    p.workspace_bytes =
        static_cast<std::int64_t>(std::min(fixed + each * static_cast<double>(p.query_tile), 9e18));
    p.selector = r.selector;
    p.forced = true;
    add_attempts(r, machine, p);
    p.why += fmt::format("selector {}: forced, of all distances of {} queries at a time. ",
                         r.selector, p.query_tile);
    return p;
}

}  // namespace

std::string cpu_selector_names() {
    std::string names;
    for (const cpu::Selector& each : cpu::selectors)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    return names;
}

Plan by_selector(const Request& r, const Machine& machine) {
    if (const std::string_view own = papers::selector_of(r.path); !own.empty()) {
        if (own != r.selector)
            refuse("selector: '{}'; path is '{}', which has another", r.selector, r.path);
        Request plain = r;
        plain.selector.clear();
        return make(plain, machine);
    }
    const cpu::Selector* const of_cpu = cpu::find_selector(r.selector);
    const gpu::Selector* const of_gpu = gpu::find_selector(r.selector);
    if (!of_cpu && !of_gpu)
        refuse(
            "selector: '{}' is unknown; expected on the CPU one of {}, or one of a GPU (kith info "
            "--selectors)",
            r.selector, cpu_selector_names());
    const std::vector<int> devices = choose_devices(r.device, r.data_device, machine);
    if (devices.size() > 1)
        refuse("selector: '{}' runs on one device; device is {}", r.selector, spelled(devices));
    const bool any_device = r.device.empty() || r.device == "auto";
    if (devices.front() == host_memory) {
        if (of_cpu) return on_cpu(r, machine, *of_cpu);
        refuse("selector: '{}' runs on a GPU only, and {}; expected on the CPU one of {}",
               r.selector,
               any_device && !machine.no_device.empty() ? machine.no_device : "the device is cpu",
               cpu_selector_names());
    }
    if (of_gpu) return papers::plan_by_selector(r, machine);
    if (!any_device || r.data_device != host_memory)
        refuse("selector: '{}' runs on the CPU only; device is {}", r.selector, spelled(devices));
    Request own = r;
    own.device = "cpu";
    return on_cpu(own, machine, *of_cpu);
}

}  // namespace kith::planner
