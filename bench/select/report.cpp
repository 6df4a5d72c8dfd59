// Printing measured tables: a block per panel, up to three rows per series: ours, the ratio, the paper's.
#include "select/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gpu/select/selectors.h"
#include "kith/error.h"
#include "kith/kith.h"

namespace kith::bench {

namespace {

const char* name(Axis axis) {
    switch (axis) {
        case Axis::k:
            return "k";
        case Axis::n:
            return "n";
        case Axis::share:
            return "k, % of n";
        case Axis::partitions:
            return "partitions";
        case Axis::position:
            return "position";
        default:
            return "order";
    }
}

const char* name(Shows shows) {
    switch (shows) {
        case Shows::seconds:
            return "seconds";
        case Shows::ratio:
            return "ratio";
        case Shows::throughput:
            return "throughput";
        case Shows::crossing:
            return "crossing";
        default:
            return "operations";
    }
}

std::string row_head(const std::string& label, const std::string& what) {
    return fmt::format("  {:<36} {:<10}", label, what);
}

// A row; with `said` after it.
void row(const std::string& label, const std::string& what, const std::vector<double>& figures, double scale,
         const std::vector<std::size_t>& columns, const std::string& said = "") {
    std::string text = row_head(label, what);
    for (const std::size_t i : columns)
        text += fmt::format(" {:>10}", figure(i < figures.size() ? scale * figures[i] : no_figure));
    fmt::print("{}{}{}\n", text, said.empty() ? "" : "   ", said);
}

// All of a panel's x, or some where there are many.
std::vector<std::size_t> columns_of(const Panel& panel) {
    constexpr std::size_t most = 16;
    std::vector<std::size_t> columns;
    const std::size_t step = (panel.at.size() + most - 1) / most;
    for (std::size_t i = 0; i < panel.at.size(); i += step) columns.push_back(i);
    return columns;
}

void print_line(const Table& table, const MeasuredPanel& panel, const Line& line, double read_rate,
                const std::vector<std::size_t>& columns) {
    const Series& s = line.series;
    if (table.shows == Shows::operations) {
        row(s.label, "per row", line.operations, 1, columns);
        if (s.growth) row("", "of " + s.formula, line.ratio, 1, columns);
        return;
    }
    const bool throughput = table.shows == Shows::throughput;
    if (throughput) row(s.label, "G/s", line.rate, 1e-9, columns, line.ratio.empty() ? s.said : "");
    else row(s.label, "ms", line.seconds, 1e3, columns, line.ratio.empty() ? s.said : "");
    if (std::ranges::any_of(line.deviation, [](double each) { return !std::isnan(each); })) {
        std::vector<double> of_mean;
        for (std::size_t i = 0; i < line.deviation.size(); ++i) of_mean.push_back(line.deviation[i] / line.seconds[i]);
        row("", "dev., %", of_mean, 100, columns);
    }
    if (throughput && table.read_rate) row("", "% of read", line.rate, 100 * sizeof(float) / read_rate, columns);
    if (panel.panel.axis == Axis::order) {
        row("", "of uniform", line.ratio, 1, columns);
    } else if (!line.ratio.empty()) {
        row("", table.times ? "times" : "ratio", line.ratio, 1, columns);
        row("", "paper", line.paper_ratio, 1, columns, s.said);
    }
    const bool several = (s.selector.empty() && s.work == Work::selection) || s.selector.find(' ') != std::string::npos;
    if (!several) return;
    std::string text = row_head("", "by");
    for (const std::size_t i : columns) text += " " + (line.chosen[i].empty() ? "-" : line.chosen[i]);
    fmt::print("{}\n", text);
}

Json list(const std::vector<double>& figures) {
    Json all = Json::array();
    for (const double each : figures) all.push_back(number(each));
    return all;
}

Json to_json(const Line& line) {
    const Series& s = line.series;
    Json json{{"label", s.label}, {"selector", s.selector}, {"sorted", s.sorted}};
    if (!s.against.empty()) json["against"] = s.against;
    if (s.k) json["k"] = s.k;
    if (!line.seconds.empty()) json["seconds"] = list(line.seconds);
    if (std::ranges::any_of(line.deviation, [](double each) { return !std::isnan(each); }))
        json["deviation_s"] = list(line.deviation);
    if (!line.rate.empty()) json["values_per_s"] = list(line.rate);
    if (!line.operations.empty()) json["operations_per_row"] = list(line.operations);
    if (!s.formula.empty()) json["formula"] = s.formula;
    if (!line.ratio.empty()) json["ratio"] = list(line.ratio);
    if (!s.paper.empty()) json["paper"] = list(s.paper);
    if (!line.paper_ratio.empty()) json["paper_ratio"] = list(line.paper_ratio);
    if (!s.said.empty()) json["paper_says"] = s.said;
    if (!line.chosen.empty()) json["chosen"] = line.chosen;
    return json;
}

Json to_json(const Case& c) {
    return {{"selector", c.selector},
            {"rows", c.rows},
            {"n", c.n},
            {"k", c.k},
            {"order", order_names[static_cast<int>(c.order)]},
            {"sorted", c.sorted},
            {"told", c.told},
            {"threads", c.threads}};
}

Case case_of(const Json& json, const std::string& file) {
    const auto* const order = std::ranges::find(order_names, json.at("order").get<std::string>(),
                                                [](const char* name) { return std::string(name); });
    if (order == std::end(order_names)) throw Error(ErrorCode::bad_file, file + ": an order that is unknown");
    return {json.at("selector"),
            json.at("rows"),
            json.at("n"),
            json.at("k"),
            static_cast<Order>(order - std::begin(order_names)),
            json.at("sorted"),
            json.at("told"),
            json.at("threads")};
}

}  // namespace

void print_head(const Table& table, Runner& runner, bool quick) {
    fmt::print("{}: {}\n  {}; {}{}\n", table.name, table.title, table.paper, runner.device(),
               quick ? ", a smaller grid" : "");
    const char* const of =
        runner.statistic() == Statistic::mean ? "means of 10 runs behind 10 that warm up, of" : "medians of";
    if (runner.on_gpu())
        fmt::print(
            "  f32 on the device, each selector's values in the layout that it reads; {} device time (CPU rows: of the "
            "whole call)\n",
            of);
    else fmt::print("  f32 in host memory; only what runs on the CPU; {} the whole call\n", of);
    if (table.read_rate) fmt::print("  read rate {} GB/s\n", figure(1e-9 * runner.read_rate()));
}

void print(const Table& table, const MeasuredPanel& panel, double read_rate) {
    const Panel& p = panel.panel;
    const std::vector<std::size_t> columns = columns_of(p);
    fmt::print("\n{}{}\n", row_head(fmt::format("{}; q {}", p.title, p.q), name(p.axis)), [&] {
        std::string xs;
        for (const std::size_t i : columns)
            xs +=
                p.axis == Axis::order ? fmt::format(" {:>10}", order_names[p.at[i]]) : fmt::format(" {:>10}", p.at[i]);
        return xs;
    }());
    for (const Line& line : panel.lines) print_line(table, panel, line, read_rate, columns);
    const bool of_order = p.axis == Axis::order;
    if (!p.goals.empty()) row("goal", of_order ? "of uniform" : "% of read", p.goals, of_order ? 1 : 100, columns);
    if (table.shows == Shows::crossing)
        fmt::print("{} {:>10}   paper's line {}\n", row_head("crossing", "k0"), figure(panel.crossing),
                   figure(table.slope * static_cast<double>(p.n) + table.intercept));
    std::fflush(stdout);
}

void print_foot(const MeasuredTable& result, const Runner& runner) {
    if (!std::isnan(result.slope))
        fmt::print("\n  k0(n) = {:.4f} n {:+.2f}   paper: k0(n) = {:.4f} n {:+.4f}\n", result.slope, result.intercept,
                   result.table.slope, result.table.intercept);
    if (!runner.notes().empty()) fmt::print("\n");
    for (const auto& [selector, why] : runner.notes()) fmt::print("  - {}: {}\n", selector, why);
}

Json head(const std::string& name, const Runner& runner, bool quick) {
    Json json{{"table", name}};
    json.update(head(runner.device(), quick));
    return json;
}

Json to_json(const MeasuredTable& result, Runner& runner, bool quick) {
    const Table& t = result.table;
    Json json = head(t.name, runner, quick);
    json["title"] = t.title;
    json["paper"] = t.paper;
    json["shows"] = name(t.shows);
    json["times"] = t.times;
    json["statistic"] = runner.statistic() == Statistic::mean ? "mean" : "median";
    json["log_x"] = t.log_x;
    json["log_y"] = t.log_y;
    if (t.read_rate) json["read_bytes_per_s"] = number(runner.read_rate());
    Json panels = Json::array();
    for (const MeasuredPanel& each : result.panels) {
        const Panel& p = each.panel;
        Json panel{{"title", p.title}, {"axis", name(p.axis)}, {"n", p.n}, {"q", p.q}, {"k", p.k}};
        panel["order"] = order_names[static_cast<int>(p.order)];
        panel["x"] = p.at;
        if (p.axis == Axis::order)
            for (const std::int64_t order : p.at) panel["x_names"].push_back(order_names[order]);
        if (!p.goals.empty()) panel["goals"] = list(p.goals);
        if (t.shows == Shows::crossing) panel["crossing"] = number(each.crossing);
        for (const Line& line : each.lines) panel["series"].push_back(to_json(line));
        panels.push_back(panel);
    }
    json["panels"] = panels;
    if (t.shows == Shows::crossing)
        json["line"] = {{"slope", number(result.slope)},
                        {"intercept", number(result.intercept)},
                        {"paper_slope", number(t.slope)},
                        {"paper_intercept", number(t.intercept)}};
    json["notes"] = runner.notes();
    json["cases"] = Json::array();
    for (const auto& [c, seconds] : runner.known())
        if (!std::isnan(seconds.typical)) {
            json["cases"].push_back(to_json(c));
            json["cases"].back().update({{"seconds", seconds.typical}, {"deviation_s", number(seconds.deviation)}});
        }
    for (const auto& [c, per_row] : runner.counts()) {
        json["counts"].push_back(to_json(c));
        std::vector<double> written = per_row;  // without the slots after the last that counted something
        while (written.size() > 1 && written.back() == 0) written.pop_back();
        json["counts"].back()["per_row"] = written;
    }
    return json;
}

std::map<Case, Seconds> cases_of(const Json& document, const std::string& file, const Json& same) {
    std::map<Case, Seconds> cases;
    try {
        for (const char* const field : {"table", "device", "quick", "statistic"})
            if (document.at(field) != same.at(field))
                throw Error(ErrorCode::bad_file, fmt::format("{}: of {} {}; this is {}", file, field,
                                                             document.at(field).dump(), same.at(field).dump()));
        for (const Json& each : document.at("cases")) {
            const Json& deviation = each.at("deviation_s");
            cases[case_of(each, file)] = {each.at("seconds"),
                                          deviation.is_null() ? no_figure : deviation.get<double>()};
        }
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::bad_file, file + ": not cases of kith-bench select --table: " + error.what());
    }
    return cases;
}

std::map<Case, std::vector<double>> counts_of(const Json& document, const std::string& file) {
    std::map<Case, std::vector<double>> counts;
    try {
        for (const Json& each : document.value("counts", Json::array())) {
            std::vector<double>& per_row = counts[case_of(each, file)];
            per_row = each.at("per_row").get<std::vector<double>>();
            if (!per_row.empty()) per_row.resize(gpu::operation_slots, 0);
        }
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::bad_file, file + ": not counts of kith-bench select --table: " + error.what());
    }
    return counts;
}

}  // namespace kith::bench
