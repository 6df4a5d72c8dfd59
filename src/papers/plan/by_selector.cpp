// Searches on a GPU by a selector that was asked for: which distances it stands behind
// (papers/plan.h).
#include <fmt/format.h>

#include "exact/refuse.h"
#include "papers/plan.h"
#include "papers/plan/kernel_choice.h"
#include "plan/by_selector.h"

namespace kith::papers {

Plan plan_by_selector(const planner::Request& r, const planner::Machine& machine) {
    if (r.metric.user || r.metric.traits.direct == metric::Direct::none)
        refuse(
            "selector: '{}' selects among distances in f32 on a GPU, where it serves built-in "
            "metrics with a direct "
            "form in f32; on a CPU every metric has {}",
            r.selector, planner::cpu_selector_names());
    // "kato" names a distance kernel, too: alone it is the path of graphs.
    const bool kernel_given =
        !is_graph_path(r.path) && gpu::find_distance_kernel(r.path) != nullptr;
    if (!r.path.empty() && !kernel_given)
        refuse(
            "selector: '{}' takes a distance kernel for a path on a GPU, or none; path is '{}', "
            "which has a selection "
            "of its own",
            r.selector, r.path);
    const bool products = r.metric.traits.direct == metric::Direct::squares &&
                          (!machine.products_absence || machine.products_absence().empty());
    const planner::KernelRow& fastest = planner::fastest_kernel(r.shape.q, r.shape.d, products);
    planner::Request own = r;
    own.selector.clear();
    own.path = fmt::format("{}+{}", kernel_given ? r.path : std::string(fastest.name), r.selector);
    Plan p = planner::make(own, machine);
    p.why = fmt::format("selector {}: forced, behind {}{}. {}", r.selector,
                        kernel_given ? r.path : fastest.name,
                        kernel_given ? "" : fmt::format(" ({})", fastest.reason), p.why);
    return p;
}

}  // namespace kith::papers
