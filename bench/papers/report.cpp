// Panels as blocks of rows, two for a method: measured, and the paper's; documents of cells.
#include "papers/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "crossing.h"
#include "kith/error.h"

namespace kith::bench::papers {

namespace {

constexpr const char* axis_names[] = {"n", "d", "k"};
constexpr const char* shows_names[] = {"seconds", "shares", "crossing"};

struct Part {
    const char* name;
    double Steps::*step;
    std::vector<double> Line::*paper;
};
constexpr Part parts[] = {{"distance", &Steps::distance, &Line::paper_distance},
                          {"sort", &Steps::sort, &Line::paper_sort},
                          {"copy", &Steps::copy, &Line::paper_copy}};

const char* name(Axis axis) {
    return axis_names[static_cast<int>(axis)];
}

// The time of a step of each cell of a line, NaN where there is none.
std::vector<double> measured(const Results& results, const Panel& panel, const Line& line, double Steps::*step) {
    std::vector<double> all;
    for (const std::int64_t x : panel.at) {
        const Cell* const cell = results.find(line.method, shape_at(panel, x));
        all.push_back(cell ? cell->steps.*step : no_time);
    }
    return all;
}

// NaN of medians.
std::vector<double> deviations(const Results& results, const Panel& panel, const Line& line) {
    std::vector<double> all;
    for (const std::int64_t x : panel.at) {
        const Cell* const cell = results.find(line.method, shape_at(panel, x));
        all.push_back(cell ? cell->deviation : no_time);
    }
    return all;
}

// In percent of the total.
std::vector<double> shares(const Results& results, const Panel& panel, const Line& line, double Steps::*step) {
    std::vector<double> all = measured(results, panel, line, step);
    const std::vector<double> total = measured(results, panel, line, &Steps::total);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] *= 100 / total[i];
    return all;
}

bool any(const std::vector<double>& figures) {
    for (const double each : figures)
        if (!std::isnan(each)) return true;
    return false;
}

void row(const std::string& label, const std::string& what, const std::vector<double>& figures, std::size_t count) {
    if (!any(figures)) return;
    std::string text = fmt::format("  {:<14} {:<16}", label, what);
    for (std::size_t i = 0; i < std::min(count, figures.size()); ++i) text += fmt::format(" {:>9}", figure(figures[i]));
    fmt::print("{}\n", text);
}

StraightLine along(const Panel& panel, const std::vector<double>& seconds) {
    const std::vector<double> xs(panel.at.begin(), panel.at.end());
    return line_through(xs, seconds);
}

void print_line(const Results& results, const Panel& panel, const Line& line) {
    const std::size_t count = panel.at.size();
    const std::vector<double> total = measured(results, panel, line, &Steps::total);
    if (results.table.shows == Shows::crossing)
        return row(
            line.method, "sort, ms a query",
            [&] {
                std::vector<double> sort = measured(results, panel, line, &Steps::sort);
                for (double& each : sort) each *= 1e3 / static_cast<double>(panel.shape.q);
                return sort;
            }(),
            count);
    row(line.method, "seconds", total, count);
    row("", "deviation", deviations(results, panel, line), count);
    row(any(total) ? "" : line.method, "paper", line.paper_seconds, count);
    if (results.table.shows == Shows::shares)
        for (const Part& part : parts) {
            row("", std::string(part.name) + " %", shares(results, panel, line, part.step), count);
            row("", any(total) ? "paper" : fmt::format("paper, {} %", part.name), line.*part.paper, count);
        }
    if (panel.axis != Axis::d || results.table.shows == Shows::shares) return;
    row("", "s / dimension", {along(panel, total).slope}, 1);
    row("", "paper", {line.paper_slope}, 1);
}

double crossing_of(const Results& results, const Panel& panel) {
    return crossing(panel.at, measured(results, panel, panel.lines[0], &Steps::sort),
                    measured(results, panel, panel.lines[1], &Steps::sort));
}

StraightLine crossings(const Results& results) {
    std::vector<double> sizes, at;
    for (const Panel& panel : results.table.panels) {
        sizes.push_back(static_cast<double>(panel.shape.n));
        at.push_back(crossing_of(results, panel));
    }
    return line_through(sizes, at);
}

Json list(const std::vector<double>& figures) {
    Json all = Json::array();
    for (const double each : figures) all.push_back(number(each));
    return all;
}

Json to_json(const Key& key) {
    const auto& [method, n, q, d, k] = key;
    return {{"method", method}, {"n", n}, {"q", q}, {"d", d}, {"k", k}};
}

Json to_json(const Key& key, const Cell& cell) {
    Json json = to_json(key);
    json["seconds"] = number(cell.steps.total);
    json["min_s"] = number(cell.least);
    json["max_s"] = number(cell.most);
    json["runs"] = cell.runs;
    for (const auto& [label, value] : {std::pair{"distance_s", cell.steps.distance},
                                       {"sort_s", cell.steps.sort},
                                       {"copy_s", cell.steps.copy},
                                       {"prepare_s", cell.steps.prepare},
                                       {"wall_s", cell.steps.wall},
                                       {"deviation_s", cell.deviation}})
        if (!std::isnan(value)) json[label] = value;
    json["same_ids"] = number(cell.same_ids);
    json["load"] = number(cell.load);
    return json;
}

// As bench/plot draws it.
Json to_json(const Results& results, const Panel& panel, const Line& line) {
    const Shows shows = results.table.shows;
    Json json{{"label", line.method}, {"selector", ""}};
    const std::vector<double> seconds =
        measured(results, panel, line, shows == Shows::crossing ? &Steps::sort : &Steps::total);
    json["seconds"] = list(seconds);
    // At each x that ran, of the whole grid's.
    const auto of_paper = [&](const std::vector<double>& figures) {
        return list({figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(panel.at.size())});
    };
    if (!line.paper_seconds.empty()) json["paper_seconds"] = of_paper(line.paper_seconds);
    if (shows == Shows::shares)
        for (const Part& part : parts) {
            if (const auto own = shares(results, panel, line, part.step); any(own))
                json["shares"][part.name] = list(own);
            if (any(line.*part.paper)) json["paper_shares"][part.name] = of_paper(line.*part.paper);
        }
    if (panel.axis == Axis::d && shows == Shows::seconds) {
        json["slope"] = number(along(panel, seconds).slope);
        json["paper_slope"] = number(line.paper_slope);
    }
    return json;
}

const char* statistic(const Results& results) {
    return results.mean ? "means of 10 runs behind 10 that warm up" : "medians";
}

}  // namespace

Shape shape_at(const Panel& panel, std::int64_t x) {
    Shape shape = panel.shape;
    (panel.axis == Axis::n ? shape.n : panel.axis == Axis::d ? shape.d : shape.k) = x;
    if (!shape.q) shape.q = shape.n;
    return shape;
}

Key key_of(const std::string& method, const Shape& shape) {
    return {method, shape.n, shape.q, shape.d, shape.k};
}

const Cell* Results::find(const std::string& method, const Shape& shape) const {
    const auto found = cells.find(key_of(method, shape));
    return found == cells.end() ? nullptr : &found->second;
}

void print_head(const Results& results) {
    fmt::print(
        "{}: {}\n  {}; {}{}\n  uniform f32, the same data for all; {}; seconds of processor time where a method "
        "takes one core\n",
        results.table.name, results.table.title, results.table.paper, results.device,
        results.quick ? ", a smaller grid" : "", statistic(results));
    std::fflush(stdout);
}

void print(const Results& results, const Panel& panel) {
    std::string head = fmt::format("\n  {:<31}", fmt::format("{}; {}", panel.title, name(panel.axis)));
    for (const std::int64_t x : panel.at) head += fmt::format(" {:>9}", x);
    fmt::print("{}\n", head);
    for (const Line& line : panel.lines) print_line(results, panel, line);
    if (results.table.shows == Shows::crossing)
        row("crossing", "k0",
            {crossing_of(results, panel),
             results.table.slope * static_cast<double>(panel.shape.n) + results.table.intercept},
            2);
    std::fflush(stdout);
}

void print_foot(const Results& results) {
    if (results.table.shows == Shows::crossing) {
        const StraightLine line = crossings(results);
        fmt::print("\n  k0(n) = {:.4f} n {:+.2f}   paper: k0(n) = {:.4f} n {:+.4f}\n", line.slope, line.intercept,
                   results.table.slope, results.table.intercept);
    }
    double least = 1;
    for (const auto& [key, cell] : results.cells) least = std::min(least, cell.same_ids);
    fmt::print("\n  - {:.5f} or more of each method's neighbours are kith's, in the same place\n", least);
    for (const auto& [method, why] : results.missing) fmt::print("  - {}: {}\n", method, why);
    for (const auto& [key, why] : results.left_out)
        fmt::print("  - {}, n {}, d {}, k {}: left out, {}\n", std::get<0>(key), std::get<1>(key), std::get<3>(key),
                   std::get<4>(key), why);
}

Json to_json(const Results& results) {
    const PaperTable& t = results.table;
    Json json{{"table", t.name}};
    json.update(head(results.device, results.quick));
    json["title"] = t.title;
    json["paper"] = t.paper;
    json["shows"] = shows_names[static_cast<int>(t.shows)];
    json["log_x"] = t.log_x;
    json["log_y"] = t.log_y;
    json["data"] = "uniform in [0, 1), f32";
    json["seconds"] =
        fmt::format("{}; of processor time where a method takes one core, else of the clock", statistic(results));
    for (const Method& each : methods()) json["methods"][each.name] = each.what;
    json["cells"] = Json::array();
    for (const auto& [key, cell] : results.cells) json["cells"].push_back(to_json(key, cell));
    for (const auto& [key, why] : results.left_out) {
        json["left_out"].push_back(to_json(key));
        json["left_out"].back()["why"] = why;
    }
    json["missing"] = results.missing;
    for (const Panel& panel : t.panels) {
        Json one{{"title", panel.title}, {"axis", name(panel.axis)}, {"n", panel.shape.n}, {"x", panel.at}};
        for (const Line& line : panel.lines) one["series"].push_back(to_json(results, panel, line));
        if (t.shows == Shows::crossing) one["crossing"] = number(crossing_of(results, panel));
        json["panels"].push_back(std::move(one));
    }
    if (t.shows == Shows::crossing) {
        const StraightLine line = crossings(results);
        json["line"] = {{"slope", number(line.slope)},
                        {"intercept", number(line.intercept)},
                        {"paper_slope", number(t.slope)},
                        {"paper_intercept", number(t.intercept)}};
    }
    return json;
}

std::map<Key, Cell> cells_of(const Json& document, const std::string& file) {
    const auto value = [](const Json& json, const char* name) {
        const auto found = json.find(name);
        return found == json.end() || found->is_null() ? no_time : found->get<double>();
    };
    std::map<Key, Cell> cells;
    try {
        for (const Json& each : document.at("cells")) {
            Cell cell{.steps = {.total = each.at("seconds").get<double>(),
                                .wall = value(each, "wall_s"),
                                .distance = value(each, "distance_s"),
                                .sort = value(each, "sort_s"),
                                .copy = value(each, "copy_s"),
                                .prepare = value(each, "prepare_s")},
                      .deviation = value(each, "deviation_s"),
                      .least = value(each, "min_s"),
                      .most = value(each, "max_s"),
                      .runs = each.at("runs").get<int>(),
                      .same_ids = value(each, "same_ids"),
                      .load = value(each, "load")};
            const Shape shape{each.at("n"), each.at("q"), each.at("d"), each.at("k")};
            cells[key_of(each.at("method"), shape)] = cell;
        }
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::bad_file, file + ": not cells of kith-bench papers: " + error.what());
    }
    return cells;
}

}  // namespace kith::bench::papers
