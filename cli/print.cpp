// Results in words.
#include "print.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kith::cli {
namespace {

constexpr std::int64_t table_columns = 10;
constexpr double least_wait = 0.01;  // seconds that are worth a word

// The filter of a report in words: "gemm-bf16" is the bf16 filter. Where the scan has certified most, the last that ran
// before it.
std::string filter_name(const Report& report) {
    std::string path = report.path;
    for (const TraceEntry& e : report.trace)
        if (report.path == "exact" && e.queries > 0 && e.strategy != "exact") path = e.strategy;
    if (path == "tree") return "tree";
    return fmt::format("{} filter", path.substr(path.rfind('-') + 1));
}

}  // namespace

std::string grouped(std::int64_t number) {
    std::string text = std::to_string(number);
    const std::ptrdiff_t first = number < 0 ? 1 : 0;
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3) {
        text.insert(static_cast<std::size_t>(at), ",");
    }
    return text;
}

std::string pair_rate(double pairs, double seconds) {
    static constexpr const char* units[] = {"", "k ", "M ", "G ", "T ", "P ", "E "};
    double rate = pairs / std::max(seconds, 1e-9);
    std::size_t unit = 0;
    while (rate >= 999.5 && unit + 1 < std::size(units)) {
        rate /= 1000;
        ++unit;
    }
    return fmt::format("{:.3g} {}distances/s", rate, units[unit]);
}

std::string duration(double seconds) {
    if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1000);
    if (seconds < 59.995) return fmt::format("{:.2f} s", seconds);
    constexpr double most = 1e15;  // which 64 bits hold
    const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, most)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string waiting_text(double seconds) {
    return seconds > least_wait ? fmt::format(", {} waiting to read", duration(seconds)) : "";
}

std::string short_distance(double distance) {
    return fmt::format("{:.6g}", distance);
}

std::string counted(std::int64_t number, const char* one, const char* many) {
    return fmt::format("{} {}", grouped(number), number == 1 ? one : many);
}

int terminal_width(int file_descriptor) {
    winsize size{};
    if (isatty(file_descriptor) && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 100;
}

double distance_at(const Neighbors& neighbors, std::int64_t row, std::int64_t column) {
    const auto at = static_cast<std::size_t>(row * neighbors.k + column);
    return neighbors.distances64.empty() ? double{neighbors.distances[at]} : neighbors.distances64[at];
}

std::string first_rows(const Neighbors& neighbors, std::int64_t queries, const char* row_name, int width) {
    const std::int64_t rows = std::min(neighbors.queries, printed_rows);
    const std::int64_t columns = std::min(neighbors.k, table_columns);
    std::vector<std::string> lines(static_cast<std::size_t>(rows) + 1);
    lines[0] = fmt::format("{:>8}", row_name);
    for (std::int64_t i = 0; i < rows; ++i) lines[static_cast<std::size_t>(i) + 1] = fmt::format("{:>8}", i);

    std::int64_t shown = 0;
    for (; shown < columns; ++shown) {
        std::vector<std::string> cells;
        std::size_t cell_width = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t id = neighbors.ids[static_cast<std::size_t>(i * neighbors.k + shown)];
            cells.push_back(id < 0 ? "none"
                                   : fmt::format("{} ({})", id,
                                                 neighbors.distances64.empty()
                                                     ? short_distance(distance_at(neighbors, i, shown))
                                                     : fmt::format("{}", distance_at(neighbors, i, shown))));
            cell_width = std::max(cell_width, cells.back().size());
        }
        if (shown > 0 && lines[0].size() + 2 + cell_width > static_cast<std::size_t>(width)) break;
        lines[0] += fmt::format("  {:<{}}", shown == 0 ? "id (distance)" : "", cell_width);
        for (std::size_t i = 0; i < cells.size(); ++i) lines[i + 1] += fmt::format("  {:<{}}", cells[i], cell_width);
    }

    std::string text;
    for (std::string& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    if (rows < queries || shown < neighbors.k) {
        text += fmt::format("The first {} of {} rows, {} of {} columns; options such as --ids write them all.\n", rows,
                            grouped(queries), shown, grouped(neighbors.k));
    }
    return text;
}

std::string summary(const Report& report) {
    const double points = report.queries > 0 ? report.pairs / static_cast<double>(report.queries) : 0;
    return fmt::format("{} x {} in {} ({}) on {}\n{}\n", counted(report.queries, "query", "queries"),
                       counted(static_cast<std::int64_t>(points), "point", "points"), duration(report.seconds),
                       pair_rate(report.pairs, report.seconds), report.device, answered(report));
}

std::string answered(const Report& report) {
    if (report.scanned == report.queries) {
        return fmt::format("{} answered by a full scan: every distance in binary64", grouped(report.queries));
    }
    return fmt::format(
        "{} answered by the {}, {} by retrying it, {} by a full scan; {:.4g} candidates per query checked "
        "in binary64",
        grouped(report.certified), filter_name(report), grouped(report.retried), grouped(report.scanned),
        report.candidates / static_cast<double>(report.queries));
}

std::string fallbacks_text(const Report& report) {
    std::string text;
    for (const Fallback& f : report.fallbacks) {
        if (f.queries > 0)
            text += fmt::format("{} of {} {}: ", grouped(f.queries), counted(report.queries, "query", "queries"),
                                f.scanned ? "scanned" : "retried");
        text += fmt::format("{}\n  what helps: {}\n", f.why, f.help);
    }
    return text;
}

}  // namespace kith::cli
