// Runs the cells of a table in order, each as often as its time permits, and keeps what earlier runs found.
#include "papers/cells.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "gpu/backend.h"
#include "kith/error.h"
#include "machine/parallel.h"
#include "papers/report.h"

namespace kith::bench::papers {

namespace {

constexpr double enough = 1;               // seconds: a cell that took them is not run again
constexpr int dropped = 10, counted = 10;  // runs of a mean: to warm up, and after that (Hanak 2023, 5.1)

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
    return "CPU";
}

std::string device_of(const Options& options) {
    const int threads = options.threads ? options.threads : machine::default_threads();
    std::string name = fmt::format("{}, {} threads", processor(), threads);
    if (options.device != "cpu" && gpu::device_count() > 0) name += ", " + gpu::device_info(0).name;
    return name;
}

double load() {
    double average = no_time;
    return getloadavg(&average, 1) == 1 ? average : no_time;
}

Steps mean_of(const std::vector<Steps>& runs) {
    Steps mean;
    for (double Steps::*step :
         {&Steps::total, &Steps::wall, &Steps::distance, &Steps::sort, &Steps::copy, &Steps::prepare}) {
        double sum = 0;
        for (const Steps& each : runs) sum += each.*step;
        mean.*step = sum / static_cast<double>(runs.size());
    }
    return mean;
}

// Standard; NaN of one run.
double deviation_of(const std::vector<Steps>& runs, double mean) {
    double squares = 0;
    for (const Steps& each : runs) squares += (each.total - mean) * (each.total - mean);
    return runs.size() > 1 ? std::sqrt(squares / static_cast<double>(runs.size() - 1)) : no_time;
}

Cell measure(const Method& method, const Inputs& inputs, const Options& options, const PaperStudy& study) {
    Cell cell;
    std::vector<std::int64_t> ids(inputs.ids.size());
    std::vector<Steps> all;
    double total = 0;
    cell.load = load();
    // The first run warms up, unless it is long enough to count.
    Steps steps = method.run(inputs, options, ids.data());
    std::int64_t same = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) same += ids[i] == inputs.ids[i];
    cell.same_ids = static_cast<double>(same) / static_cast<double>(ids.size());
    if (steps.total >= enough) all.push_back(steps);
    const int runs = study.mean ? counted : study.repeat;
    for (int i = 1; study.mean && all.empty() && i < dropped; ++i) method.run(inputs, options, ids.data());
    while (all.empty() || ((total < enough || study.mean) && steps.total < enough && std::ssize(all) < runs)) {
        steps = method.run(inputs, options, ids.data());
        total += steps.total;
        all.push_back(steps);
    }
    std::ranges::sort(all, {}, &Steps::total);
    cell.steps = study.mean ? mean_of(all) : all[all.size() / 2];
    if (study.mean) cell.deviation = deviation_of(all, cell.steps.total);
    cell.least = all.front().total;
    cell.most = all.back().total;
    cell.runs = static_cast<int>(all.size());
    return cell;
}

void save(const Results& results, const std::string& name) {
    if (!name.empty()) write(to_json(results), name);
}

std::set<Key> keys_of(const PaperTable& table) {
    std::set<Key> keys;
    for (const Panel& panel : table.panels)
        for (const Line& line : panel.lines)
            for (const std::int64_t x : panel.at) keys.insert(key_of(line.method, shape_at(panel, x)));
    return keys;
}

// --quick: no more points than quick_n; where every panel has more, each has this many.
void shrink(PaperTable& table) {
    if (table.quick_n == 0) return;
    const auto larger = [&](const Panel& panel) { return panel.shape.n > table.quick_n; };
    const bool all_larger = std::ranges::all_of(table.panels, larger);
    if (!all_larger) std::erase_if(table.panels, larger);
    for (Panel& panel : table.panels) {
        if (panel.axis == Axis::n) std::erase_if(panel.at, [&](std::int64_t n) { return n > table.quick_n; });
        if (!all_larger) continue;
        panel.title = fmt::format("n {} in place of {}", table.quick_n, panel.title);
        panel.shape.n = table.quick_n;
    }
}

class Runs {
public:
    Runs(const PaperStudy& study, const Options& options, const PaperTable& table)
        : study_(study),
          options_(options),
          results_{.table = table, .device = device_of(options), .quick = study.quick, .mean = study.mean} {
        if (!study.times.empty()) take(study.times, false);
        if (study.resume && !study.json.empty() && std::filesystem::exists(study.json)) take(study.json, true);
        if (study.quick) shrink(results_.table);
    }

    bool run() {
        print_head(results_);
        for (const Panel& panel : results_.table.panels) {
            // By x first: the time of a cell tells what the next larger one takes.
            for (const std::int64_t x : panel.at)
                for (const Line& line : panel.lines) run(method_named(line.method), shape_at(panel, x));
            print(results_, panel);
        }
        print_foot(results_);
        save(results_, study_.json);
        constexpr double same = 0.98;  // f32, and norms and products in it, may order near ties otherwise
        return std::ranges::all_of(results_.cells, [](const auto& each) {
            return std::isnan(each.second.same_ids) || each.second.same_ids >= same;
        });
    }

private:
    void take(const std::string& file, bool same_table) {
        const Json document = read(file);
        const std::string table = document.value("table", ""), device = document.value("device", "");
        if (same_table && table != results_.table.name)
            throw Error(ErrorCode::bad_file,
                        fmt::format("{}: of table {}; expected {}", file, table, results_.table.name));
        if (device != results_.device)
            throw Error(ErrorCode::bad_file, fmt::format("{}: of {}; this is {}", file, device, results_.device));
        const std::set<Key> own = same_table ? std::set<Key>() : keys_of(results_.table);
        for (const auto& [key, cell] : cells_of(document, file))
            if (same_table || own.contains(key)) results_.cells[key] = cell;
    }

    // From the measured cell of these dimensions that has the most pairs, of those with fewer; where there is none, the
    // most by those of fewer dimensions. Cells of larger k say nothing.
    double expected(const Method& method, const Shape& shape) const {
        double most = 0, seconds = 0, of_fewer_d = 0;
        const double own = static_cast<double>(shape.n) * static_cast<double>(shape.q);
        for (const auto& [key, cell] : results_.cells) {
            const auto& [name, n, q, d, k] = key;
            const double other = static_cast<double>(n) * static_cast<double>(q);
            if (name != method.name || d > shape.d || k > shape.k || other > own) continue;
            const double scaled = cell.steps.total * own / other;
            if (d < shape.d) of_fewer_d = std::max(of_fewer_d, scaled);
            if (d < shape.d || other < most) continue;
            most = other;
            seconds = scaled;
        }
        return most > 0 ? seconds : of_fewer_d;
    }

    void run(const Method& method, const Shape& shape) {
        const Key key = key_of(method.name, shape);
        if (results_.cells.contains(key) || !wanted(method, study_, options_)) return;
        if (std::string why = method.missing(); !why.empty()) {
            results_.missing[method.name] = std::move(why);
            return;
        }
        if (const double seconds = expected(method, shape); seconds > study_.limit) {
            results_.left_out[key] =
                fmt::format("about {} s expected, more than {}", figure(seconds), figure(study_.limit));
            return;
        }
        study_.deadline.check();
        if (!inputs_ || inputs_->shape != shape) inputs_ = std::make_unique<Inputs>(shape, options_);
        try {
            results_.cells[key] = measure(method, *inputs_, options_, study_);
        } catch (const Error& error) {
            // A path that does not serve this k, or has no memory for it.
            if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::out_of_memory) throw;
            results_.left_out[key] = error.what();
        }
        save(results_, study_.json);
    }

    const PaperStudy& study_;
    const Options& options_;
    Results results_;
    std::unique_ptr<Inputs> inputs_;
};

}  // namespace

bool wanted(const Method& method, const PaperStudy& study, const Options& options) {
    if (!study.methods.empty() && !std::ranges::count(study.methods, method.name)) return false;
    return method.gpu ? options.device != "cpu" : !options.device.starts_with("cuda");
}

bool run_cells(const PaperTable& table, const PaperStudy& study, const Options& options) {
    return Runs(study, options, table).run();
}

}  // namespace kith::bench::papers
