// The strategies of both backends, for the planner: obstacles, and the list in a plan.
#include "plan/attempts.h"

#include <algorithm>

#include "cpu/search/strategies.h"
#include "gpu/search/strategies.h"
#include "plan/choice.h"

namespace kith::planner {

std::string obstacle_on_cpu(const PathFacts& path, const MetricFacts& metric, ElementType type,
                            const strategy::Processor& processor, bool all_points) {
    const cpu::Strategy* const own = cpu::find_strategy(name(path.path));
    if (!own) return "is not in this build";
    if (!own->facts.obstacle) return "";
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

// Unless the plan has it already. A form of the points counts where it is first needed.
void add(const strategy::Facts& strategy, const char* when, strategy::Tile tile, const Request& r,
         Plan& p) {
    const auto is_there = [&](const Attempt& each) { return each.strategy == strategy.name; };
    const bool made = std::ranges::any_of(p.attempts, is_there);
    if (std::ranges::any_of(
            p.attempts, [&](const Attempt& each) { return is_there(each) && each.when == when; }))
        return;
    Shape kept = r.shape;
    if (p.device != host_memory) kept.n = std::min(kept.n, p.chunk_points);
    p.attempts.push_back({strategy.name, when, tile.queries, tile.points,
                          strategy.bytes && !made ? strategy.bytes(kept, p.isa) : 0});
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
            add(*step.strategy, gpu::text(step.when), step.tile, r, p);
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
                                      .has_tree = r.points.forms.tree == Form::ready})) {
        const strategy::Facts& facts = step.strategy->facts;
        add(facts, cpu::text(step.when),
            facts.tile ? facts.tile(p, r.shape) : strategy::Tile{p.query_tile, p.point_tile}, r, p);
    }
}

void estimate_attempts(const Request& r, Plan& p) {
    Request block = r;
    if (p.device_queries > 0) block.shape.q = p.device_queries;
    if (p.device_points > 0) block.shape.n = p.device_points;
    for (Attempt& each : p.attempts) {
        const cpu::Strategy* const of_cpu =
            p.device == host_memory ? cpu::find_strategy(each.strategy) : nullptr;
        const strategy::Facts* const facts =
            of_cpu ? &of_cpu->facts : gpu::find_strategy(each.strategy);
        if (facts) each.seconds = attempt_seconds(*facts, block, p);
    }
}

bool is_only_first(std::string_view named, bool gpu) {
    const bool is_path = std::ranges::any_of(
        paths(), [&](const PathFacts& path) { return named == name(path.path); });
    // A GPU's other strategies need the forms that their own paths prepare.
    return !is_path &&
           (gpu ? named == gpu::strategies::noop.name : cpu::find_strategy(named) != nullptr);
}

}  // namespace kith::planner
