// Every distance kernel with every selector of the rule, and the fused kernel, on points and queries that lie on the
// device, uniform in [0, 1)^d; the points are prepared, what is timed is a call of Index::search_into.
#include "search/rule_regret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"
#include "cell_file.h"
#include "exact/refuse.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "papers/names.h"
#include "papers/plan/hanak_rule.h"
#include "timing.h"

namespace kith::bench {

namespace {

constexpr double behind = 3;  // times the best so far: one run says enough

struct Cell {
    std::int64_t n, q, d, k;
    std::map<std::string, double> seconds = {};    // path: median, or mean
    std::map<std::string, double> deviation = {};  // of means
    std::string chosen = {}, best = {};

    double regret() const {
        const auto found = seconds.find(chosen);
        return found == seconds.end() || best.empty() ? NAN : found->second / seconds.at(best) - 1;
    }
};

// The least work first: a run may end before the last.
std::vector<Cell> grid(bool quick) {
    const std::vector<std::int64_t> n = quick ? std::vector<std::int64_t>{1 << 16}
                                              : std::vector<std::int64_t>{1 << 15, 1 << 18},
                                    q = quick ? std::vector<std::int64_t>{100, 8192}
                                              : std::vector<std::int64_t>{1, 100, 8192},
                                    d = quick ? std::vector<std::int64_t>{16, 128}
                                              : std::vector<std::int64_t>{16, 64, 256};
    std::vector<Cell> cells;
    for (const std::int64_t points : n)
        for (const std::int64_t dimensions : d)
            for (const std::int64_t queries : q)
                for (const std::int64_t k : {10, 100, 1000, 3000, 8000})
                    cells.push_back({points, queries, dimensions, k});
    std::ranges::stable_sort(cells, {}, [](const Cell& c) { return c.n * c.q * c.d; });
    return cells;
}

// Every path that the rule may take.
std::vector<std::string> candidates() {
    std::vector<std::string> names{std::string(planner::fused_rule.name)};
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        for (const planner::RuleRow& row : planner::selection_rule)
            names.push_back(fmt::format("{}+{}", kernel.name, row.name));
    return names;
}

// Points, queries and a result on the device, made anew where their shape changes.
class Searches {
public:
    Searches(const Options& given, int repeat, bool mean) : options_(given), repeat_(repeat), mean_(mean) {
        options_.device = "cuda:0";
        options_.metric = MetricId::sqeuclidean;
    }

    // Seconds by each path that serves the cell, and the rule's choice.
    void measure(Cell& c, const std::vector<std::string>& paths) {
        prepare(c);
        Options options = options_;
        options.path = kith::papers::hanak_rule;
        c.chosen = path_name(plan({c.n, c.q, c.d, c.k, ElementType::f32, false}, options));
        const Output out(c.q, c.k, device);
        for (const std::string& path : paths) {
            options.path = path;
            const auto call = [&] { return index_->search_into(queries_->view, c.k, options, out.view); };
            try {
                call();
                const double first = timed(call);
                const bool hopeless = !c.best.empty() && first > behind * c.seconds.at(c.best);
                c.seconds[path] = hopeless ? first : typical(call, c.deviation[path]);
            } catch (const Error& error) {
                if (error.code() == ErrorCode::device && !path.starts_with("cublas")) throw;  // it may not be installed
                if (path == c.chosen) fmt::print("  - {}: {}\n", path, error.what());
                continue;
            }
            same_ = same_ && agrees(c, out);
            if (c.best.empty() || c.seconds[path] < c.seconds.at(c.best)) c.best = path;
        }
        ids_.clear();
    }

    bool same() const { return same_; }

private:
    static constexpr int device = 0;

    void prepare(const Cell& c) {
        if (!index_ || n_ != c.n || d_ != c.d) {
            index_.reset();
            points_.emplace(rows_of({Data::uniform}, c.n, c.d, ElementType::f32, device));
            Options options = options_;
            options.path = name(Path::direct_f32);
            index_.emplace(points_->view, options);
            queries_.reset();
        }
        if (!queries_ || queries_->view.rows != c.q)
            queries_.emplace(
                rows_of({.data = Data::uniform, .seed = queries_seed}, c.q, c.d, ElementType::f32, device));
        n_ = c.n;
        d_ = c.d;
    }

    // Median, or mean.
    template <class F>
    double typical(F call, double& deviation) const {
        const Timing timing = mean_ ? repeated_for_mean(call) : repeated(repeat_, call);
        deviation = mean_ ? timing.deviation() : NAN;
        return mean_ ? timing.mean() : timing.median();
    }

    // With the first path that ran.
    bool agrees(const Cell& c, const Output& out) {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(c.q * c.k));
        gpu::copy(ids.data(), out.view.ids, ids.size() * sizeof(std::int64_t));
        if (ids_.empty()) ids_ = std::move(ids);
        else return ids == ids_;
        return true;
    }

    Options options_;
    int repeat_;
    bool mean_;
    std::int64_t n_ = 0, d_ = 0;
    std::optional<Rows> points_, queries_;
    std::optional<Index> index_;
    std::vector<std::int64_t> ids_;
    bool same_ = true;
};

void print_summary(const std::vector<double>& regrets) {
    double sum = 0, worst = 0;
    int count = 0;
    for (const double regret : regrets) {
        if (!std::isfinite(regret)) continue;
        sum += regret;
        worst = std::max(worst, regret);
        ++count;
    }
    if (count > 0)
        fmt::print("\nregret of {} over {} cells: mean {:.1f} %, worst {:.1f} %\n", kith::papers::hanak_rule, count,
                   100 * sum / count, 100 * worst);
}

void found_of(const Cell& c, Json& json) {
    json["chosen"] = c.chosen;
    json["best"] = c.best;
    json["regret"] = number(c.regret());
    for (const auto& [path, seconds] : c.seconds) json["seconds"][path] = number(seconds);
    for (const auto& [path, deviation] : c.deviation)
        if (std::isfinite(deviation)) json["deviation_s"][path] = deviation;
}

// For a path that ran, else NaN.
double milliseconds(const Json& json, const char* which) {
    const std::string path = json.at(which).get<std::string>();
    return json.contains("seconds") && json["seconds"].contains(path) ? 1e3 * json["seconds"][path].get<double>() : NAN;
}

}  // namespace

bool run(const RuleStudy& study, const Options& options) {
    if (gpu::device_count() == 0) throw Error(ErrorCode::device, "regret: needs a GPU");
    std::vector<Cell> cells = grid(study.quick);
    const std::vector<std::string> paths = candidates();
    Searches searches(options, study.repeat, study.mean);
    const std::string device = gpu::device_info(0).name;
    fmt::print("{}: the rule's path beside the best of {}; uniform f32, points prepared; {}; {}\n",
               kith::papers::hanak_rule, paths.size(),
               study.mean ? "means of 10 runs behind 10" : fmt::format("medians of {}", study.repeat), device);
    fmt::print("{:>8} {:>6} {:>5} {:>6}  {:>10} {:>10} {:>9}  {:<28} {}\n", "n", "q", "d", "k", "rule ms", "best ms",
               "regret", "rule", "best");
    Json document = head(device, study.quick);
    document["table"] = std::string(kith::papers::hanak_rule);
    document["repeat"] = study.repeat;
    document["statistic"] = study.mean ? "mean" : "median";
    document["paths"] = paths;
    CellFile file(std::move(document), "cells", study.json, study.resume, study.deadline);
    std::vector<double> regrets;
    for (Cell& c : cells) {
        const Json json = file.cell({{"n", c.n}, {"q", c.q}, {"d", c.d}, {"k", c.k}}, [&](Json& cell) {
            searches.measure(c, paths);
            found_of(c, cell);
        });
        const Json& regret = json.at("regret");
        regrets.push_back(regret.is_null() ? NAN : regret.get<double>());
        fmt::print("{:>8} {:>6} {:>5} {:>6}  {:>10} {:>10} {:>8} %  {:<28} {}\n", c.n, c.q, c.d, c.k,
                   figure(milliseconds(json, "chosen")), figure(milliseconds(json, "best")),
                   figure(100 * regrets.back()), json.at("chosen").get<std::string>(),
                   json.at("best").get<std::string>());
        std::fflush(stdout);
    }
    print_summary(regrets);
    if (!searches.same()) fmt::print("DIFFERENT NEIGHBOURS\n");
    return searches.same();
}

}  // namespace kith::bench
