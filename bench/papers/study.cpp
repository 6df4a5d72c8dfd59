// Runs the cells of a table in order, each as often as its time permits, and keeps what earlier runs found.
#include "papers/study.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include "gpu/backend.h"
#include "kith/error.h"
#include "machine/parallel.h"
#include "papers/report.h"
#include "search/tables.h"
#include "select/study.h"

namespace kith::bench {

namespace {

using namespace papers;  // NOLINT(google-build-using-namespace): of this project

constexpr double enough = 1;               // seconds: a cell that took them is not run again
constexpr int dropped = 10, counted = 10;  // runs of a mean: to warm up, and after that (Hanak 2023, 5.1)

std::string without_dashes(std::string name) {
    std::erase(name, '-');
    return name;
}

const PaperTable* table_of(const std::vector<PaperTable>& tables, const std::string& name) {
    for (const PaperTable& each : tables)
        if (without_dashes(each.name) == without_dashes(name)) return &each;
    return nullptr;
}

void print_list(const std::vector<PaperTable>& tables) {
    for (const PaperTable& each : tables)
        fmt::print("{:<20} {}: {}{}\n", each.name, each.paper, each.title,
                   each.on_gpu.empty() ? "" : "; on a GPU `select --table " + each.on_gpu + "`");
    fmt::print("of `kith-bench search --table`: {}\n", search_table_names());
    fmt::print("of `kith-bench select --table`: {}\nmethods:\n", table_names());
    for (const Method& each : methods()) {
        const std::string missing = each.missing();
        fmt::print("  {:<12} {}{}\n", each.name, each.what, missing.empty() ? "" : "; not here: " + missing);
    }
    fmt::print("  {:<12} {}\n  {:<12} {}\n  {:<12} {}\n", "path:NAME",
               "kith::search by that path of a GPU, from device memory", "copies:NAME",
               "the same with the copies from and to host memory", "steps:SELECTOR",
               "kith::distances, then kith::select by that selector, and the copies, on a GPU");
}

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

class Runs {
public:
    Runs(const PaperStudy& study, const Options& options, const PaperTable& table)
        : study_(study),
          options_(options),
          results_{.table = table, .device = device_of(options), .quick = study.quick, .mean = study.mean} {
        for (const std::string& file : study.times) take(file, false);
        if (study.resume && !study.json.empty() && std::filesystem::exists(study.json)) take(study.json, true);
        choose_panels();
        if (study.quick)
            for (Panel& panel : results_.table.panels)
                if (panel.axis == Axis::n) std::erase_if(panel.at, [&](std::int64_t n) { return n > table.quick_n; });
        if (study.quick)
            std::erase_if(results_.table.panels, [&](const Panel& panel) { return panel.shape.n > table.quick_n; });
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
    void choose_panels() {
        if (study_.panels.empty()) return;
        std::vector<Panel>& panels = results_.table.panels;
        for (const std::string& title : study_.panels) {
            if (std::ranges::count(panels, title, &Panel::title) > 0) continue;
            std::string titles;
            for (const Panel& panel : panels) titles += fmt::format("{}'{}'", titles.empty() ? "" : ", ", panel.title);
            throw Error(ErrorCode::invalid_argument, fmt::format("--panels '{}': expected of {}", title, titles));
        }
        std::erase_if(panels, [&](const Panel& panel) { return !std::ranges::count(study_.panels, panel.title); });
    }

    void take(const std::string& file, bool same_table) {
        const Json document = read(file);
        const std::string table = document.value("table", ""), device = document.value("device", "");
        if (same_table && table != results_.table.name)
            throw Error(ErrorCode::bad_file,
                        fmt::format("{}: of table {}; expected {}", file, table, results_.table.name));
        if (device != results_.device)
            throw Error(ErrorCode::bad_file, fmt::format("{}: of {}; this is {}", file, device, results_.device));
        for (const auto& [key, cell] : cells_of(document, file)) results_.cells[key] = cell;
    }

    bool wanted(const Method& method) const {
        if (!study_.methods.empty() && !std::ranges::count(study_.methods, method.name)) return false;
        return method.gpu ? options_.device != "cpu" : !options_.device.starts_with("cuda");
    }

    // From the largest measured cell that has fewer pairs, as the product of pairs and dimensions.
    double expected(const Method& method, const Shape& shape) const {
        double most = 0, seconds = 0;
        const auto work = [](double n, double q, double d) { return n * q * d; };
        const double own =
            work(static_cast<double>(shape.n), static_cast<double>(shape.q), static_cast<double>(shape.d));
        for (const auto& [key, cell] : results_.cells) {
            const auto& [name, n, q, d, k] = key;
            if (name != method.name || d != shape.d) continue;
            const double other = work(static_cast<double>(n), static_cast<double>(q), static_cast<double>(d));
            if (other > own || other < most) continue;
            most = other;
            seconds = cell.steps.total * own / other;
        }
        return seconds;
    }

    void run(const Method& method, const Shape& shape) {
        const Key key = key_of(method.name, shape);
        if (results_.cells.contains(key) || !wanted(method)) return;
        if (std::string why = method.missing(); !why.empty()) {
            results_.missing[method.name] = std::move(why);
            return;
        }
        if (const double seconds = expected(method, shape); seconds > study_.limit) {
            results_.left_out[key] =
                fmt::format("about {} s expected, more than {}", figure(seconds), figure(study_.limit));
            return;
        }
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

// What other subcommands measure.
bool delegate(const PaperStudy& study, const Options& options, const std::string& table) {
    if (!study.times.empty() || !study.methods.empty() || !study.panels.empty())
        throw Error(ErrorCode::invalid_argument, table + ": --times, --methods and --panels serve tables of cells");
    if (is_search_table(table))
        return run(TableStudy{.table = table,
                              .quick = study.quick,
                              .repeat = study.repeat,
                              .json = study.json,
                              .mean = study.mean,
                              .resume = study.resume},
                   options);
    run(Study{.table = table,
              .quick = study.quick,
              .repeat = study.repeat,
              .mean = study.mean,
              .json = study.json,
              .resume = study.resume},
        options);
    return true;
}

}  // namespace

bool run(const PaperStudy& study, const Options& options) {
    std::vector<PaperTable> tables = garcia_tables();
    std::ranges::move(hanak_searches(), std::back_inserter(tables));
    std::ranges::move(sismanis_searches(), std::back_inserter(tables));
    if (study.list || study.table.empty()) {
        print_list(tables);
        return true;
    }
    for (const std::string& each : study.methods) method_named(each);
    const PaperTable* const table = table_of(tables, study.table);
    if (!table) return delegate(study, options, study.table);
    if (options.device.starts_with("cuda") && !table->on_gpu.empty()) return delegate(study, options, table->on_gpu);
    return Runs(study, options, *table).run();
}

}  // namespace kith::bench
