// The list of all figures, what each lacks here, a file for each.
#include "papers/all.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "kith/error.h"
#include "papers/cells.h"
#include "search/kato.h"
#include "search/tables.h"
#include "select/study.h"

namespace kith::bench::papers {

namespace {

namespace fs = std::filesystem;

constexpr double quick_limit = 1;                          // seconds of a cell, with --quick
constexpr const char* cells_of_others = "garcia-table-1";  // which Garcia's Figs. 4 and 5 are made of

struct Figure {
    std::string name;
    std::string missing = {};           // why it cannot be measured here
    const PaperTable* cells = nullptr;  // or elsewhere
    bool mean = true;
};

std::string missing(const PaperTable& table, const PaperStudy& study, const Options& options) {
    std::string why = "none of its methods is asked for";
    for (const Panel& panel : table.panels)
        for (const Line& line : panel.lines) {
            const Method method = method_named(line.method);
            if (!wanted(method, study, options)) continue;
            why = method.missing();
            if (why.empty()) return why;
        }
    return why;
}

std::vector<Figure> figures(const std::vector<PaperTable>& tables, const PaperStudy& study, const Options& options) {
    std::vector<Figure> all;
    for (const PaperTable& each : tables) all.push_back({each.name, missing(each, study, options), &each});
    for (const std::string& each : tables_of_papers()) all.push_back({each, bench::missing(each, options)});
    const bool gpu = options.device != "cpu" && gpu::device_count() > 0;
    for (const std::string& each : search_tables_of_papers())
        all.push_back({each, gpu || each == kato_table ? "" : "needs a GPU", nullptr, has_mean(each)});
    return all;
}

// In single quotes, for a shell.
std::string quoted(const std::string& text) {
    std::string out(1, '\'');
    for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
    return out.append(1, '\'');
}

void draw(const std::vector<std::string>& files) {
    std::string command = "python3 " + quoted(KITH_BENCH_PLOT);
    for (const std::string& each : files) command.append(1, ' ').append(quoted(each));
    std::fflush(stdout);
    if (std::system((command + " 2> /dev/null").c_str()) != 0)
        fmt::print("not all are drawn: bench/plot, which needs Python's matplotlib, says why\n");
}

}  // namespace

bool run_all(const PaperStudy& given, const Options& options) {
    PaperStudy study = given;
    if (study.quick) {
        study.repeat = 1;
        study.limit = std::min(study.limit, quick_limit);
    }
    const fs::path folder = given.json;
    fs::create_directories(folder);
    const std::vector<PaperTable> tables = paper_tables();
    const auto file_of = [&](const std::string& name) { return (folder / (name + ".json")).string(); };
    const std::vector<Figure> all = figures(tables, study, options);
    for (const Figure& each : all)
        if (!study.resume && fs::exists(file_of(each.name)))
            throw Error(ErrorCode::invalid_argument, file_of(each.name) + ": exists; --resume goes on from there");
    std::vector<std::string> files, wrong;
    for (const Figure& each : all) {
        if (!each.missing.empty()) {
            fmt::print("{}: left out: {}\n\n", each.name, each.missing);
            continue;
        }
        study.json = file_of(each.name);
        study.mean = given.mean && each.mean;
        const std::string others = file_of(cells_of_others);
        study.times = each.cells && each.name != cells_of_others && fs::exists(others) ? others : "";
        try {
            const bool same =
                each.cells ? run_cells(*each.cells, study, options) : run_elsewhere(each.name, study, options);
            if (!same) wrong.push_back(each.name + ": different neighbours");
            files.push_back(study.json);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::device) throw;
            wrong.push_back(fmt::format("{}: {}", each.name, error.what()));
        }
        fmt::print("\n");
    }
    draw(files);
    for (const std::string& each : wrong) fmt::print("{}\n", each);
    fmt::print("{} of {} figures and tables in {}\n", files.size(), all.size(), given.json);
    return wrong.empty();
}

}  // namespace kith::bench::papers
