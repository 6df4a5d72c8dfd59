// See trace.h.
#include "strategy/trace.h"

#include <algorithm>

#include "kith/plan.h"

namespace kith::strategy {

void add(const std::vector<TraceEntry>& part, std::vector<TraceEntry>& all) {
    for (const TraceEntry& one : part) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const TraceEntry& entry) {
            return entry.strategy == one.strategy;
        });
        if (same == all.end()) {
            all.push_back(one);
            continue;
        }
        if (one.left > same->left || same->cause.empty()) same->cause = one.cause;
        same->queries += one.queries;
        same->certified += one.certified;
        same->left += one.left;
        same->seconds += one.seconds;
    }
}

void answer_again(std::int64_t queries, const char* cause, std::vector<TraceEntry>& trace) {
    if (queries == 0) return;
    std::int64_t open = queries;
    for (auto entry = trace.rbegin(); entry != trace.rend(); ++entry) {
        const std::int64_t taken = std::min(open, entry->certified);
        entry->certified -= taken;
        entry->left += taken;
        if (taken > 0) entry->cause = cause;
        open -= taken;
    }
    trace.push_back({name(Path::exact), queries, queries, 0, "", 0});
}

}  // namespace kith::strategy
