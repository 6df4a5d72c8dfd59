// The strategies of both backends, for the planner: obstacles, and the list in a plan.
#include "plan/attempts.h"

#include <algorithm>

#include "cpu/search/strategies.h"
#include "gpu/search/strategies.h"

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

namespace {

strategy::Task task_of(const Request& r) {
    return r.all_points ? strategy::Task::within : strategy::Task::nearest;
}

void add(const strategy::Facts& strategy, const char* when, Plan& p) {
    const Attempt attempt{strategy.name, when};
    if (std::ranges::find(p.attempts, attempt) == p.attempts.end()) p.attempts.push_back(attempt);
}

}  // namespace

void add_attempts(const Request& r, const Machine& m, Plan& p) {
    p.attempts.clear();
    p.attempts.reserve(std::max(cpu::Steps::most, gpu::Steps::most));
    if (p.device != host_memory) {
        const Machine::Device& device = m.devices[static_cast<std::size_t>(p.device)];
        for (const gpu::PlannedStep& step : gpu::steps_of({.task = task_of(r),
                                            .plan = p,
                                            .traits = r.metric.traits,
                                            .user = r.metric.user,
                                            .shape = r.shape,
                                            .multiprocessors = device.multiprocessors}))
            add(*step.strategy, gpu::text(step.when), p);
        return;
    }
    const bool wide = p.isa == "avx512" || p.isa == "amx";
    for (const cpu::ChainStep& step : cpu::steps_of({.task = task_of(r),
                                      .plan = p,
                                      .metric = r.metric.id,
                                      .traits = r.metric.traits,
                                      .type = r.shape.type,
                                      .queries = r.shape.q,
                                      .d = r.shape.d,
                                      .bf16 = m.bf16 && wide,
                                      .bytes = m.vnni && wide,
                                      .has_tree = r.forms.tree == Form::ready}))
        add(step.strategy->facts, cpu::text(step.when), p);
}

bool is_only_first(std::string_view named, bool gpu) {
    const bool is_path = std::ranges::any_of(
        paths(), [&](const PathFacts& path) { return named == name(path.path); });
    // A GPU's other strategies need the forms that their own paths prepare.
    return !is_path &&
           (gpu ? named == gpu::strategies::noop.name : cpu::find_strategy(named) != nullptr);
}

}  // namespace kith::planner
