// Paths by Hanak's rule.
#include "papers/plan/hanak_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "exact/refuse.h"
#include "kith/error.h"
#include "papers/names.h"
#include "papers/plan/composed.h"

namespace kith::planner {

namespace {

constexpr std::string_view selector_by_rule = "+hanak-rule";
static_assert(selector_by_rule.substr(1) == papers::hanak_rule);

}  // namespace

bool is_ruled(const std::string& path) {
    return path == papers::hanak_rule || path.ends_with(selector_by_rule);
}

std::vector<RuledPath> by_hanak_rule(const std::string& path, const RuleCase& c) {
    const RuleRow& selector = select_by_rule(c);
    if (path != papers::hanak_rule) {
        const std::string kernel = path.substr(0, path.size() - selector_by_rule.size());
        return {{fmt::format("{}+{}", kernel, selector.name),
                 fmt::format("{} for {}", selector.name, selector.reason)}};
    }
    std::vector<RuledPath> paths;
    if (fused_rule.fits(c))
        paths.push_back({std::string(fused_rule.name),
                         fmt::format("{} for {}", fused_rule.name, fused_rule.reason)});
    for (const RuleRow& row : distance_rule) {
        if (!row.fits(c) || !gpu::find_distance_kernel(row.name)) continue;
        paths.push_back({fmt::format("{}+{}", row.name, selector.name),
                         fmt::format("{} for {}, {} for {}", row.name, row.reason, selector.name,
                                     selector.reason)});
    }
    return paths;
}

Plan ruled(const Request& r, const Machine& machine) {
    refuse_other_than_direct(r,
                             machine);  // as any of its paths would, by the name that was asked for
    const Shape& s = r.shape;
    const std::int64_t wanted = std::min(s.n, s.k + (s.graph ? 1 : 0));
    const std::vector<RuledPath> paths = by_hanak_rule(
        r.path,
        {.n = s.n, .q = s.q, .d = s.d, .k = s.k, .listed = gpu::listed_points(s.n, wanted, 0)});
    Request chosen = r;
    for (const RuledPath& each : paths) {
        chosen.path = each.path;
        try {
            Plan p = make(chosen, machine);
            p.why = fmt::format("path {}: {}. {}", r.path, each.reason, p.why);
            return p;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument || &each == &paths.back()) throw;
        }
    }
    refuse("path: '{}' has no kernel for this search", r.path);
}

}  // namespace kith::planner
