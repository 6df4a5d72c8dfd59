// One table or figure by name, wherever it is measured; and what there is.
#include "papers/study.h"

#include <fmt/format.h>

#include <utility>

#include "kith/error.h"
#include "papers/all.h"
#include "papers/cells.h"
#include "papers/report.h"
#include "search/tables.h"
#include "select/study.h"

namespace kith::bench {

namespace {

using namespace papers;  // NOLINT(google-build-using-namespace): of this project

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
    const std::pair<const char*, const char*> families[] = {
        {"path:NAME", "kith::search by that path of a GPU, from device memory"},
        {"copies:NAME", "likewise with the copies from and to host memory"},
        {"steps:SELECTOR", "kith::distances, then kith::select by that selector, and the copies, on a GPU"},
        {"garcia:SELECTOR", "Garcia's kernel, its matrix by column, then that selector, and the copies"},
        {"sort:NAME", "a truncated sort of distances on one core, without the distances"}};
    for (const auto& [name, what] : families) fmt::print("  {:<12} {}\n", name, what);
    fmt::print("all of the papers', a file each: --all --json FOLDER\n");
}

}  // namespace

namespace papers {

std::vector<PaperTable> paper_tables() {
    std::vector<PaperTable> tables = garcia_tables();
    std::ranges::move(hanak_searches(), std::back_inserter(tables));
    std::ranges::move(sismanis_searches(), std::back_inserter(tables));
    return tables;
}

bool run_elsewhere(const std::string& table, const PaperStudy& study, const Options& options) {
    if (is_search_table(table))
        return run(TableStudy{.table = table,
                              .quick = study.quick,
                              .repeat = study.repeat,
                              .json = study.json,
                              .cpu_points = study.quick ? kato_quick_points : kato_points,
                              .mean = study.mean,
                              .resume = study.resume,
                              .deadline = study.deadline},
                   options);
    run(Study{.table = table,
              .quick = study.quick,
              .repeat = study.repeat,
              .mean = study.mean,
              .json = study.json,
              .resume = study.resume,
              .deadline = study.deadline},
        options);
    return true;
}

}  // namespace papers

bool run(const PaperStudy& study, const Options& options) {
    const auto refuse_if = [](bool wrong, const char* what) {
        if (wrong) throw Error(ErrorCode::invalid_argument, what);
    };
    if (study.list || (study.table.empty() && !study.all)) {
        print_list(paper_tables());
        return true;
    }
    for (const std::string& each : study.methods) method_named(each);
    if (study.all) {
        refuse_if(!study.table.empty(), "--all: expected no name beside it");
        refuse_if(!study.times.empty(), "--times: serves one table");
        refuse_if(study.json.empty(), "--all: expected --json FOLDER");
        return run_all(study, options);
    }
    const std::vector<PaperTable> tables = paper_tables();
    const PaperTable* const table = table_of(tables, study.table);
    const bool on_gpu = table && options.device.starts_with("cuda") && !table->on_gpu.empty();
    if (table && !on_gpu) return run_cells(*table, study, options);
    refuse_if(!study.times.empty() || !study.methods.empty(), "--times, --methods: serve tables of cells");
    return run_elsewhere(on_gpu ? table->on_gpu : study.table, study, options);
}

}  // namespace kith::bench
