// Regret over a grid of (n, q, k): every candidate that serves the k, then the choice that is judged.
//
// Values are row-major, as a caller's are: selectors that read columns pay for the transposition, as they would.
#include "select/regret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "gpu/select/choice.h"
#include "kith/error.h"
#include "papers/names.h"
#include "papers/plan/hanak_rule.h"

namespace kith::bench {

namespace {

constexpr std::int64_t most_values = std::int64_t{1} << 28, most_quick_values = std::int64_t{1} << 24;
constexpr double hopeless = 20;  // times the best at a smaller n, at this k or at all of them: left out at the next
constexpr double behind = 3;     // times the best so far: one run says enough

struct Cell {
    std::int64_t n, q, k;
    std::map<std::string, double> seconds;
    std::string planned, best;
    double planner = no_figure;

    double least() const { return best.empty() ? no_figure : seconds.at(best); }
    double regret() const { return planner / least() - 1; }
};

// k of interest at n: small, powers of two, shares of n, all of it.
std::set<std::int64_t> k_of(std::int64_t n, bool quick) {
    std::set<std::int64_t> all{1, n};
    const auto add = [&](std::int64_t k) {
        if (k <= n) all.insert(std::max<std::int64_t>(1, k));
    };
    for (const std::int64_t k : {32, 512, 2048}) add(k);
    add(n / 10);
    if (quick) return all;
    for (const std::int64_t k : {8, 128, 1024, 4096, 1 << 14, 1 << 17}) add(k);
    add(n / 3);
    return all;
}

int step_of_log_n(bool quick) {
    return quick ? 6 : 2;
}

std::vector<Cell> grid(bool quick) {
    std::vector<Cell> cells;
    for (int log_n = 6; log_n <= 24; log_n += step_of_log_n(quick))
        for (int log_q = 0; log_q <= 16; log_q += quick ? 8 : 4) {
            const std::int64_t n = std::int64_t{1} << log_n, q = std::int64_t{1} << log_q;
            if (n * q > (quick ? most_quick_values : most_values)) continue;
            for (const std::int64_t k : k_of(n, quick)) cells.push_back({n, q, k, {}, "", ""});
        }
    return cells;
}

// Which selectors need not be tried any more as n grows, cell by cell.
class Hopeless {
public:
    explicit Hopeless(int step) : step_(step) {}

    bool contains(const std::string& name, const Cell& c) {
        if (at_k_.contains({name, c.q, c.k})) return true;
        const auto before = least_.find({name, c.q, c.n >> step_});
        if (before == least_.end() || before->second <= hopeless) return false;
        least_[{name, c.q, c.n}] = before->second;
        return true;
    }
    void learn(const Cell& c) {
        for (const auto& [name, seconds] : c.seconds) {
            const double ratio = seconds / c.least();
            if (ratio > hopeless) at_k_.insert({name, c.q, c.k});
            double& least = least_.try_emplace({name, c.q, c.n}, ratio).first->second;
            least = std::min(least, ratio);
        }
    }

private:
    int step_;
    std::set<std::tuple<std::string, std::int64_t, std::int64_t>> at_k_;           // name, q, k
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, double> least_;  // name, q, n: over all k
};

// For selections alone: dimensions and distances do not count.
std::string by_rule(const Cell& c) {
    return std::string(planner::select_by_rule({.n = c.n, .q = c.q, .k = c.k, .listed = c.k}).name);
}

void print_worst(const std::vector<Cell>& cells) {
    std::vector<const Cell*> order;
    for (const Cell& c : cells)
        if (std::isfinite(c.regret())) order.push_back(&c);
    if (order.empty()) {
        fmt::print("\nno cell was timed\n");
        return;
    }
    std::ranges::sort(order, [](const Cell* a, const Cell* b) { return a->regret() > b->regret(); });
    double sum = 0;
    for (const Cell* c : order) sum += c->regret();
    fmt::print("\nregret over {} cells: mean {:.1f} %, worst {:.1f} %\n", order.size(),
               100 * sum / static_cast<double>(order.size()), 100 * order.front()->regret());
    for (std::size_t i = 0; i < std::min<std::size_t>(15, order.size()); ++i) {
        const Cell& c = *order[i];
        fmt::print("  {:>8.1f} %  n {:>9} q {:>6} k {:>9}  {} {} ms, {} {} ms\n", 100 * c.regret(), c.n, c.q, c.k,
                   c.planned, figure(1e3 * c.planner), c.best, figure(1e3 * c.least()));
    }
}

// A block per q, a line per n: from which k on which selector is the fastest.
void print_winners(const std::vector<Cell>& cells) {
    std::map<std::int64_t, std::map<std::int64_t, std::string>> lines;  // q, n
    std::map<std::int64_t, std::string> last;                           // n: the winner at the k before
    std::int64_t q = 0;
    for (const Cell& c : cells) {
        if (c.q != q) last.clear();
        q = c.q;
        if (!c.best.empty() && std::exchange(last[c.n], c.best) != c.best)
            lines[c.q][c.n] += fmt::format("  {} {}", c.k, c.best);
    }
    for (const auto& [rows, of_rows] : lines) {
        fmt::print("\nfastest at q {}, from each k on\n", rows);
        for (const auto& [n, line] : of_rows) fmt::print("  n {:>9}:{}\n", n, line);
    }
}

Json to_json(const Cell& c) {
    Json json{{"n", c.n}, {"q", c.q}, {"k", c.k}, {"planned", c.planned}, {"planner_seconds", number(c.planner)}};
    json["best"] = c.best;
    json["regret"] = number(c.regret());
    for (const auto& [name, seconds] : c.seconds) json["seconds"][name] = number(seconds);
    return json;
}

}  // namespace

std::vector<std::string> candidates() {
    std::vector<std::string> names;
    for (const gpu::Selector& s : gpu::selectors)
        if (s.candidate) names.emplace_back(s.name);
    return names;
}

Json regret(Runner& runner, std::vector<std::string> selectors, bool quick, Judged judged) {
    if (!runner.on_gpu()) throw Error(ErrorCode::device, "regret: needs a GPU");
    if (selectors.empty()) selectors = candidates();
    std::vector<Cell> cells = grid(quick);
    std::int64_t neighbours = 0;
    for (const Cell& c : cells) neighbours = std::max(neighbours, c.q * c.k);
    runner.reserve(quick ? most_quick_values : most_values, neighbours);
    std::erase_if(selectors, [](const std::string& name) {
        if (gpu::find_selector(name)) return false;
        fmt::print("  - {}: not in this build\n", name);
        return true;
    });
    Hopeless left_out(step_of_log_n(quick));
    std::int64_t n = 0;
    for (Cell& c : cells) {
        if (c.n != n) fmt::print(stderr, "regret: n {}\n", c.n);
        n = c.n;
        double best = no_figure;
        for (const std::string& name : selectors) {
            if (!gpu::serves(*gpu::find_selector(name), {c.n, c.q, c.k}) || left_out.contains(name, c)) continue;
            const double seconds = runner.select({name, c.q, c.n, c.k}, behind * (std::isnan(best) ? 1.0 : best));
            if (std::isnan(seconds)) continue;
            c.seconds[name] = seconds;
            if (seconds >= best) continue;
            best = seconds;
            c.best = name;
        }
        left_out.learn(c);
        c.planned = judged == Judged::planner ? runner.planned({"", c.q, c.n, c.k}) : by_rule(c);
        // One selector has one time in a cell: what differs between its runs is no regret.
        if (!c.seconds.contains(c.planned)) c.seconds[c.planned] = runner.select({c.planned, c.q, c.n, c.k});
        c.planner = c.seconds[c.planned];
        if (c.best.empty() || c.planner < best) c.best = c.planned;
    }
    print_worst(cells);
    print_winners(cells);
    Json json = head("regret", runner, quick);
    json["judged"] = judged == Judged::planner ? "planner" : std::string(kith::papers::hanak_rule);
    json["selectors"] = selectors;
    for (const Cell& c : cells) json["cells"].push_back(to_json(c));
    json["notes"] = runner.notes();
    return json;
}

Json regret_of(Json result, Judged judged) {
    std::vector<Cell> cells;
    std::int64_t unknown = 0;
    for (Json& json : result.at("cells")) {
        Cell c{json.at("n"), json.at("q"), json.at("k"), {}, "", ""};
        for (const auto& [name, seconds] : json.at("seconds").items()) {
            if (!seconds.is_number()) continue;
            c.seconds[name] = seconds;
            if (c.best.empty() || c.seconds[name] < c.least()) c.best = name;
        }
        c.planned =
            judged == Judged::planner ? gpu::choose_selector({.n = c.n, .rows = c.q, .k = c.k}).selector : by_rule(c);
        const auto planned = c.seconds.find(c.planned);
        if (planned == c.seconds.end()) ++unknown;
        else c.planner = planned->second;
        cells.push_back(c);
        json = to_json(c);
    }
    if (unknown > 0) fmt::print("{} cells have no time of the choice\n", unknown);
    print_worst(cells);
    return result;
}

}  // namespace kith::bench
