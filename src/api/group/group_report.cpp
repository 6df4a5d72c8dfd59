// Sums of reports, and texts of failures.
#include "api/group/group_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "kith/error.h"
#include "strategy/trace.h"

namespace kith::api {

namespace {

void add_fallback(const Fallback& one, std::vector<Fallback>& all) {
    for (Fallback& other : all) {
        if (other.scanned != one.scanned || other.why != one.why) continue;
        other.queries += one.queries;
        return;
    }
    all.push_back(one);
}

}  // namespace

Fallback describe(const std::exception_ptr& error, const std::string& device,
                  std::int64_t queries) {
    std::string what = "an unknown error";
    bool memory = false;
    try {
        std::rethrow_exception(error);
    } catch (const Error& thrown) {
        what = thrown.what();
        memory = thrown.code() == ErrorCode::out_of_memory;
    } catch (const std::bad_alloc&) {
        what = "memory: an allocation on the host failed";
        memory = true;
    } catch (const std::exception& thrown) {
        what = thrown.what();
    } catch (...) {
    }
    return {queries, false, fmt::format("{} failed ({}) and its work was taken over", device, what),
            memory ? "free memory there, or name the devices that have it"
                   : "look at that device (nvidia-smi, the kernel's log), or name the others"};
}

void add(const Report& block, Report& device) {
    device.path = block.path;
    device.selector = block.selector;
    device.device = block.device;
    device.threads = std::max(device.threads, block.threads);
    device.queries += block.queries;
    device.certified += block.certified;
    device.retried += block.retried;
    device.scanned += block.scanned;
    device.candidates += block.candidates;
    for (const Fallback& fallback : block.fallbacks) add_fallback(fallback, device.fallbacks);
    strategy::add(block.trace, device.trace);
}

Report total(const std::vector<Report>& devices, const std::vector<std::string>& names,
             const std::vector<Fallback>& failures, std::int64_t queries, std::int64_t points) {
    Report all;
    std::string text;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const Report& one = devices[i];
        if (one.queries == 0) continue;
        const std::string path = all.path.empty() ? one.path : all.path;
        add(one, all);
        all.path = path;
        const std::string own =
            one.device.substr(std::min(one.device.size(), one.device.find(" (")));
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", names[i], own);
    }
    all.device = text;
    all.pairs = static_cast<double>(queries) * static_cast<double>(points);
    // With shards a query counts once per shard. It is classified by its most expensive one, as an
    // upper bound.
    all.queries = queries;
    all.scanned = std::min(all.scanned, queries);
    all.retried = std::min(all.retried, queries - all.scanned);
    all.certified = queries - all.scanned - all.retried;
    for (Fallback& fallback : all.fallbacks) fallback.queries = std::min(fallback.queries, queries);
    std::stable_sort(all.fallbacks.begin(), all.fallbacks.end(),
                     [](const Fallback& a, const Fallback& b) { return a.queries > b.queries; });
    all.fallbacks.insert(all.fallbacks.begin(), failures.begin(), failures.end());
    return all;
}

}  // namespace kith::api
