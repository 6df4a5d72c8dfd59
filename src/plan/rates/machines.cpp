// The measured machines (src/plan/machines/*.json, compiled in as text), and the times that follow
// from their rates.
#include "plan/rates/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "exact/refuse.h"
#include "plan/machine_texts.h"  // generated

namespace kith::planner {

namespace {

// Interpolates a power law between two measured points; outside of them the nearer one counts.
double between(double x, double x0, double y0, double x1, double y1) {
    if (x <= x0 || x0 == x1) return y0;
    if (x >= x1) return y1;
    return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
}

// A tree takes time in proportion to n log n to build, and to log n per query. Its rates are those
// at this n.
constexpr double tree_points = 1 << 16;

double seconds_of(const MeasuredRate& r, const Asked& asked) {
    const double levels =
        r.path == Path::tree ? std::log2(asked.n + 2) / std::log2(tree_points) : 1;
    const double points = asked.prepared ? 0 : r.point_seconds * asked.n * levels;
    const double pairs = r.pairs_per_second > 0 ? asked.n * asked.q / r.pairs_per_second : 0;
    return r.call_seconds + (points + r.query_seconds * asked.q * levels + pairs) / asked.faster;
}

// The time at one measured d.
double seconds_for_k(const std::vector<const MeasuredRate*>& rates, double d, const Asked& asked) {
    const MeasuredRate* below = nullptr;
    for (const MeasuredRate* r : rates) {
        if (r->d != d) continue;
        if (below && asked.k <= r->k)
            return between(asked.k, below->k, seconds_of(*below, asked), r->k,
                           seconds_of(*r, asked));
        if (asked.k <= r->k) return seconds_of(*r, asked);
        below = r;
    }
    return seconds_of(*below, asked);
}

// The rates of the metric itself, else those for any metric; ordered by d and k.
std::vector<const MeasuredRate*> rates_of(const KnownMachine& machine, const Asked& asked) {
    std::vector<const MeasuredRate*> own, any;
    for (const MeasuredRate& r : machine.rates) {
        if (asked.path != r.path || asked.device != r.device) continue;
        if (r.metric == asked.metric) own.push_back(&r);
        else if (r.metric.empty()) any.push_back(&r);
    }
    std::vector<const MeasuredRate*>& rates = own.empty() ? any : own;
    std::ranges::sort(rates, {}, [](const MeasuredRate* r) { return std::pair(r->d, r->k); });
    return rates;
}

}  // namespace

std::vector<KnownMachine> known_machines() {
    std::vector<KnownMachine> machines;
    for (const MachineText& file : machine_texts)
        machines.push_back(read_machine(file.text, file.name));
    return machines;
}

KnownMachine known_machine(std::string_view name) {
    std::string names;
    for (KnownMachine& m : known_machines()) {
        if (name == m.facts.name) return std::move(m);
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", m.facts.name, m.facts.what);
    }
    refuse(
        "machine: '{}'; expected one of {}, or a file of kith calibrate, whose name ends in .json",
        name, names);
}

double known_seconds(const KnownMachine& machine, const Asked& asked) {
    const std::vector<const MeasuredRate*> rates = rates_of(machine, asked);
    if (rates.empty()) return 0;
    const MeasuredRate* below = nullptr;
    for (const MeasuredRate* r : rates) {
        if (asked.d <= r->d && below)
            return between(asked.d, below->d, seconds_for_k(rates, below->d, asked), r->d,
                           seconds_for_k(rates, r->d, asked));
        if (asked.d <= r->d) return seconds_for_k(rates, r->d, asked);
        if (!below || r->d > below->d) below = r;
    }
    return seconds_for_k(rates, below->d, asked) * asked.d / below->d;
}

double most_measured_k(const KnownMachine& machine, const Asked& asked) {
    const std::vector<const MeasuredRate*> rates = rates_of(machine, asked);
    if (rates.empty()) return 0;
    const auto nearest =
        std::ranges::find_if(rates, [&](const MeasuredRate* r) { return r->d >= asked.d; });
    const double d = nearest == rates.end() ? rates.back()->d : (*nearest)->d;
    double most = 0;
    for (const MeasuredRate* r : rates)
        if (r->d == d) most = std::max(most, r->k);
    return most;
}

}  // namespace kith::planner
