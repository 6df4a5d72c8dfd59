// The engine of the tables: cases from panels, ratios from times, crossings and their line.
#include "select/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "crossing.h"
#include "gpu/select/selectors.h"
#include "kith/error.h"

namespace kith::bench {

namespace {

constexpr std::int64_t dimensions = 128;  // of the distances, where they are timed

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> all;
    for (std::string word; stream >> word;) all.push_back(word);
    return all.empty() ? std::vector<std::string>{""} : all;
}

Case case_of(const Panel& panel, const Series& series, std::int64_t x) {
    Case c{"", panel.q, panel.n, series.k ? series.k : panel.k, panel.order, series.sorted, series.told};
    switch (panel.axis) {
        case Axis::k:
            c.k = x;
            break;
        case Axis::n:
            c.n = x;
            break;
        case Axis::share:
            c.k = std::max<std::int64_t>(1, panel.n * x / 100);
            break;
        case Axis::order:
            c.order = static_cast<Order>(x);
            break;
        default:
            break;
    }
    return c;
}

// The panel as it runs: without the series' figures at x that a quick run leaves out.
Panel shrunk(Panel panel, bool quick) {
    if (!quick) return panel;
    if (panel.quick_q) panel.q = panel.quick_q;
    if (panel.quick_at.empty()) return panel;
    const auto keep = [&](std::vector<double>& figures) {
        std::vector<double> kept;
        for (std::size_t i = 0; i < std::min(figures.size(), panel.at.size()); ++i)
            if (std::ranges::count(panel.quick_at, panel.at[i])) kept.push_back(figures[i]);
        figures = std::move(kept);
    };
    for (Series& series : panel.series) keep(series.paper);
    keep(panel.goals);
    std::erase_if(panel.at, [&](std::int64_t x) { return !std::ranges::count(panel.quick_at, x); });
    return panel;
}

class Meter {
public:
    Meter(Runner& runner, const Table& table) : runner_(runner), table_(table) {}

    MeasuredPanel measure(const Panel& panel) {
        MeasuredPanel result{panel, {}};
        for (const Series& series : panel.series)
            result.lines.push_back(table_.shows == Shows::operations ? count(panel, series) : time(panel, series));
        for (Line& line : result.lines) compare(result, line);
        if (table_.shows == Shows::crossing && result.lines.size() == 2)
            result.crossing = bench::crossing(panel.at, result.lines[0].seconds, result.lines[1].seconds);
        return result;
    }

private:
    Seconds seconds_of(const Series& series, Case c, std::int64_t x, std::string& chosen) {
        if (series.work == Work::copy_to_host) return {runner_.copy_to_host(c.rows, c.n), no_figure};
        if (series.work == Work::distances) return {runner_.distances(c.rows, c.n, dimensions), no_figure};
        Seconds best{no_figure, no_figure};
        for (const std::string& word : words(series.selector)) {
            c.selector = word;
            if (const std::size_t mark = word.find("{}"); mark != std::string::npos)
                c.selector.replace(mark, 2, std::to_string(x));
            const Seconds seconds =
                series.threads == on_gpu ? runner_.timed(c) : runner_.select_on_cpu(c, series.threads);
            if (std::isnan(seconds.typical) || seconds.typical >= best.typical) continue;
            best = seconds;
            chosen = c.selector.empty() ? runner_.planned(c) : c.selector;
        }
        if (series.and_distances) best.typical += runner_.distances(c.rows, c.n, dimensions);
        return best;
    }

    Line time(const Panel& panel, const Series& series) {
        Line line;
        line.series = series;
        for (const std::int64_t x : panel.at) {
            const Case c = case_of(panel, series, x);
            std::string chosen;
            const Seconds seconds = c.k > c.n ? Seconds{no_figure, no_figure} : seconds_of(series, c, x, chosen);
            line.seconds.push_back(seconds.typical);
            line.deviation.push_back(seconds.deviation);
            line.rate.push_back(static_cast<double>(c.rows) * static_cast<double>(c.n) / seconds.typical);
            line.chosen.push_back(chosen);
        }
        return line;
    }

    Line count(const Panel& panel, const Series& series) {
        Line line;
        line.series = series;
        std::vector<double> slots;
        for (const std::int64_t x : panel.at) {
            Case c = case_of(panel, series, x);
            c.selector = series.selector;
            if (panel.axis == Axis::position) {
                if (x == 0) slots = runner_.operations(c);
                line.operations.push_back(at(slots, x));
                continue;
            }
            slots = runner_.operations(c);
            if (series.growth) {
                line.operations.push_back(at(slots, series.slot));
                line.ratio.push_back(line.operations.back() /
                                     series.growth(static_cast<double>(c.n), static_cast<double>(c.k)));
            } else {  // every position of the queue
                double sum = slots.empty() ? no_figure : 0;
                for (std::size_t i = 0; i < slots.size() && i < gpu::insertion_slot; ++i) sum += slots[i];
                line.operations.push_back(sum);
            }
        }
        return line;
    }

    static double at(const std::vector<double>& slots, std::int64_t slot) {
        return static_cast<std::size_t>(slot) < slots.size() ? slots[static_cast<std::size_t>(slot)] : no_figure;
    }

    void compare(const MeasuredPanel& panel, Line& line) const {
        const std::size_t count = panel.panel.at.size();
        if (panel.panel.axis == Axis::order) {
            for (const double rate : line.rate) line.ratio.push_back(rate / line.rate[0]);
            return;
        }
        if (line.series.against.empty()) return;
        const auto found =
            std::ranges::find(panel.lines, line.series.against, [](const Line& each) { return each.series.label; });
        if (found == panel.lines.end())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{}: no series '{}'", table_.name, line.series.against));
        const auto ratio = [&](double base, double own) { return table_.times ? own / base : base / own; };
        for (std::size_t i = 0; i < count; ++i) line.ratio.push_back(ratio(found->seconds[i], line.seconds[i]));
        line.paper_ratio = line.series.paper;
        if (!table_.paper_seconds) return;
        for (std::size_t i = 0; i < line.paper_ratio.size(); ++i)
            line.paper_ratio[i] = ratio(found->series.paper[i], line.series.paper[i]);
    }

    Runner& runner_;
    const Table& table_;
};

bool needs_gpu(const Table& table) {
    return std::ranges::none_of(table.panels, [](const Panel& panel) {
        return std::ranges::any_of(panel.series, [](const Series& s) { return s.threads != on_gpu; });
    });
}

#ifdef KITH_COUNT_OPERATIONS
constexpr bool counts = true;
#else
constexpr bool counts = false;
#endif

}  // namespace

std::string missing(const Table& table, const Runner& runner) {
    if (table.shows == Shows::operations && !counts)
        return "counts operations, which this build does not; configure with `cmake --preset counted`";
    return !runner.on_gpu() && needs_gpu(table) ? "needs a GPU" : "";
}

MeasuredTable measure(const Table& table, Runner& runner, bool quick,
                      const std::function<void(const MeasuredPanel&)>& done) {
    MeasuredTable result{table, {}};
    std::vector<Panel> panels;
    std::int64_t values = 0, neighbours = 0;
    for (const Panel& each : table.panels) {
        if (quick && !each.quick) continue;
        panels.push_back(shrunk(each, quick));
        for (const Series& series : panels.back().series)
            for (const std::int64_t x : panels.back().at) {
                const Case c = case_of(panels.back(), series, x);
                values = std::max(values, c.rows * c.n);
                neighbours = std::max(neighbours, c.rows * std::min(c.k, c.n));
            }
    }
    runner.reserve(values, neighbours);
    if (table.read_rate) runner.read_rate();
    Meter meter(runner, table);
    for (const Panel& panel : panels) {
        result.panels.push_back(meter.measure(panel));
        done(result.panels.back());
    }
    std::vector<double> sizes, crossings;
    for (const MeasuredPanel& each : result.panels) {
        sizes.push_back(static_cast<double>(each.panel.n));
        crossings.push_back(each.crossing);
    }
    const StraightLine line = line_through(sizes, crossings);
    result.slope = line.slope;
    result.intercept = line.intercept;
    return result;
}

}  // namespace kith::bench
