// The CPU's strategies, to the planner: what stands against one, and which a plan lists.
#include "plan/attempts.h"

#include <algorithm>

#include "cpu/search/strategies.h"

namespace kith::planner {

std::string obstacle_on_cpu(const PathFacts& path, const MetricFacts& metric, ElementType type,
                            const strategy::Processor& processor, bool all_points) {
    const cpu::Strategy* const own = cpu::find_strategy(name(path.path));
    if (!own || !own->facts.obstacle) return "";
    const char* const reason =
        own->facts.obstacle({.task = all_points ? strategy::Task::within : strategy::Task::nearest,
                             .type = type,
                             .traits = metric.traits,
                             .rounds = metric.rounds,
                             .user = metric.user,
                             .processor = processor});
    return reason ? reason : "";
}

void add_attempts(const Request& r, const Machine& m, Plan& p) {
    const bool wide = p.isa == "avx512" || p.isa == "amx";
    const cpu::Steps steps =
        cpu::steps_of({.task = r.all_points ? strategy::Task::within : strategy::Task::nearest,
                       .plan = p,
                       .metric = r.metric.id,
                       .traits = r.metric.traits,
                       .type = r.shape.type,
                       .queries = r.shape.q,
                       .d = r.shape.d,
                       .bf16 = m.bf16 && wide,
                       .bytes = m.vnni && wide,
                       .has_tree = r.forms.tree == Form::ready});
    p.attempts.reserve(cpu::Steps::most);
    for (const cpu::ChainStep& step : steps) {
        const Attempt attempt{step.strategy->facts.name, cpu::text(step.when)};
        if (std::ranges::find(p.attempts, attempt) == p.attempts.end())
            p.attempts.push_back(attempt);
    }
}

bool is_only_first(std::string_view named) {
    const bool is_path = std::ranges::any_of(
        paths(), [&](const PathFacts& path) { return named == name(path.path); });
    return !is_path && cpu::find_strategy(named) != nullptr;
}

}  // namespace kith::planner
