// build_info(): properties of this build and this machine.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "api/guard.h"
#include "cpu/search/strategies.h"
#include "cpu/select/selectors.h"
#include "cpu/simd/isa.h"
#include "gpu/backend.h"
#include "gpu/select/selectors.h"
#include "kith/algorithms.h"
#include "kith/kith.h"
#include "machine/parallel.h"
#include "papers/plan.h"
#include "plan/planner.h"

namespace kith {

namespace {

// True if `name` is a variant of the family that `head` begins, such as "heap-queue+buffer" of
// "heap-queue".
bool is_variant(std::string_view name, std::string_view head) {
    return name.size() > head.size() && name.starts_with(head) &&
           (name[head.size()] == '+' || name[head.size()] == '-');
}

bool in_build(const cpu::Selector&) {
    return true;
}
bool in_build(const gpu::Selector& s) {
    return papers::has(s);
}

// A line for each selector of this build: its range of k and its description. Variants are listed
// under the head of their family, by the rest of their name and description.
template <class Selectors>
std::string lines_of(const Selectors& selectors) {
    std::string text;
    std::string_view head, words;
    for (const auto& s : selectors) {
        if (!in_build(s)) continue;
        const std::string range = s.max_k ? fmt::format("k {} to {}", s.min_k, s.max_k)
                                          : fmt::format("k from {}", s.min_k);
        std::string_view name = s.name, what = s.what;
        const bool variant = !head.empty() && is_variant(name, head);
        if (variant) {
            name.remove_prefix(head.size());
            if (what.starts_with(words)) what.remove_prefix(words.size());
            if (what.starts_with("; ")) what.remove_prefix(2);
        } else {
            head = name;
            words = what;
        }
        text += fmt::format("  {:<24} {:<14} {}\n", (variant ? "    " : "") + std::string(name),
                            range, what);
    }
    return text;
}

std::vector<PathInfo> path_list() {
    std::vector<PathInfo> list;
    for (const planner::PathFacts& path : planner::paths())
        list.push_back({.name = name(path.path),
                        .on_cpu = path.on_cpu,
                        .on_gpu = path.on_gpu,
                        .what = std::string(path.what)});
    std::ranges::move(papers::path_list(), std::back_inserter(list));
    for (const cpu::Listed& each : cpu::all_strategies) {
        const strategy::Facts& facts = each.strategy->facts;
        if (planner::is_only_first(facts.name, false))
            list.push_back({.name = facts.name,
                            .on_cpu = true,
                            .on_gpu = planner::is_only_first(facts.name, true),
                            .what = fmt::format("{}; ahead of the planner's choice", facts.what)});
    }
    return list;
}

struct MetricLine {
    const char* name;
    const char* aliases;
    const char* what;
};
constexpr MetricLine metrics[] = {
#define KITH_METRIC(name, type, aliases, what) {#name, aliases, what},
#include "kith/metrics.def"
#undef KITH_METRIC
};

}  // namespace

std::string build_info() {
    return api::guarded([&] {
        std::string text = fmt::format("kith {}\n", KITH_VERSION);
        const int threads = machine::default_threads();
        text += fmt::format("cpu          {} thread{}, instruction sets:", threads,
                            threads == 1 ? "" : "s");
        for (int i = cpu::isa_count - 1; i >= 0; --i) {
            const auto isa = static_cast<cpu::Isa>(i);
            text += fmt::format(" {}{}", cpu::name(isa),
                                cpu::supported(isa) ? "" : " (not on this machine)");
        }
        text += '\n';
        const int devices = gpu::device_count();
        if (devices == 0) text += fmt::format("gpu          none: {}\n", gpu::absence());
        for (int i = 0; i < devices; ++i) {
            const gpu::DeviceInfo info = gpu::device_info(i);
            text += fmt::format(
                "cuda:{}       {}, compute capability {}.{}, {} multiprocessors, {:.1f} of {:.1f} "
                "GiB free, runs {}\n",
                i, info.name, info.capability / 10, info.capability % 10, info.multiprocessors,
                static_cast<double>(info.free_bytes) / (1 << 30),
                static_cast<double>(info.total_bytes) / (1 << 30), info.code);
        }
        if (const std::string compiler = gpu::formula_compiler(); !compiler.empty())
            text += fmt::format("gpu formulas {}\n", compiler);
        text += fmt::format("papers       {}\n", papers::built()
                                                     ? "their selectors and paths"
                                                     : "none: " + std::string(papers::not_built));
        text += "\nmetrics (name, aliases, what it is of q and x)\n";
        for (const MetricLine& m : metrics)
            text += fmt::format("  {:<14} {:<13} {}\n", m.name, m.aliases, m.what);
        text += "  formula                      an expression of your own; functor: a C++ one\n";
        text += "\npaths (how a search runs; never changes the answer)\n";
        for (const PathInfo& path : path_list())
            text +=
                fmt::format("  {:<18} {:<9} {}\n", path.name + (path.takes_selector ? "+..." : ""),
                            path.on_cpu && path.on_gpu ? "cpu, gpu"
                            : path.on_cpu              ? "cpu"
                                                       : "gpu",
                            path.what);
        return text;
    });
}

std::vector<PathInfo> paths() {
    return api::guarded([] { return path_list(); });
}

std::vector<SelectorInfo> selectors() {
    return api::guarded([] {
        std::vector<SelectorInfo> list;
        const auto add = [&](const auto& all, bool on_gpu) {
            for (const auto& s : all)
                if (in_build(s))
                    list.push_back({.name = std::string(s.name),
                                    .on_gpu = on_gpu,
                                    .min_k = s.min_k,
                                    .max_k = s.max_k,
                                    .what = std::string(s.what)});
        };
        add(cpu::selectors, false);
        add(gpu::selectors, true);
        return list;
    });
}

std::string selectors_help() {
    return api::guarded([&] {
        return "selectors of the CPU\n" + lines_of(cpu::selectors) +
               "\nselectors of a GPU (variants under their family: NAME and what follows it)\n" +
               lines_of(gpu::selectors) +
               (papers::built() ? "" : fmt::format("  others: {}\n", papers::not_built));
    });
}

}  // namespace kith
