// The list of tables, and which study runs each.
#include "search/tables.h"

#include <algorithm>
#include <vector>

#include "kith/error.h"
#include "search/distance_kernels.h"
#include "search/kato.h"
#include "search/kernels_alone.h"
#include "search/latency.h"
#include "search/paths.h"
#include "search/radius.h"
#include "search/rule_regret.h"
#include "search/streams.h"

namespace kith::bench {

namespace {

struct SearchTable {
    std::string name;
    bool (*run)(const TableStudy& study, const Options& options);
    bool of_paper = true, mean = false, resume = true;
};

bool run_streams(const TableStudy& s, const Options& options) {
    return run(StreamStudy{.table = s.table,
                           .quick = s.quick,
                           .repeat = s.repeat,
                           .json = s.json,
                           .resume = s.resume,
                           .deadline = s.deadline},
               options);
}

bool run_rule(const TableStudy& s, const Options& options) {
    return run(RuleStudy{.regret = true,
                         .quick = s.quick,
                         .repeat = s.repeat,
                         .json = s.json,
                         .mean = s.mean,
                         .resume = s.resume,
                         .deadline = s.deadline},
               options);
}

const std::vector<SearchTable>& tables() {
    static const std::vector<SearchTable> all = [] {
        std::vector<SearchTable> list{{.name = kato_table, .run = run_kato},
                                      {.name = "radius", .run = run_radius, .of_paper = false, .resume = false},
                                      {.name = "latency", .run = run_latency, .of_paper = false, .resume = false},
                                      {.name = streams_table, .run = run_streams},
                                      {.name = kernels_table, .run = run_kernels, .of_paper = false, .mean = true},
                                      {.name = throughput_table, .run = run_kernels, .mean = true},
                                      {.name = alone_table, .run = run_kernels_alone, .mean = true},
                                      {.name = rule_table, .run = run_rule, .mean = true}};
        for (const std::string& name : path_tables()) list.push_back({.name = name, .run = run_paths, .mean = true});
        return list;
    }();
    return all;
}

const SearchTable* find(const std::string& name) {
    const auto found = std::ranges::find(tables(), name, &SearchTable::name);
    return found == tables().end() ? nullptr : &*found;
}

}  // namespace

std::string search_table_names() {
    std::string names;
    for (const SearchTable& each : tables()) names += (names.empty() ? "" : ", ") + each.name;
    return names;
}

bool is_search_table(const std::string& name) {
    return find(name) != nullptr;
}

bool has_mean(const std::string& name) {
    const SearchTable* const table = find(name);
    return table && table->mean;
}

std::vector<std::string> search_tables_of_papers() {
    std::vector<std::string> names;
    for (const SearchTable& each : tables())
        if (each.of_paper) names.push_back(each.name);
    return names;
}

bool run(const TableStudy& study, const Options& options) {
    const SearchTable* const table = find(study.table);
    if (!table)
        throw Error(ErrorCode::invalid_argument,
                    "table: '" + study.table + "'; expected one of " + search_table_names());
    if (study.mean && !table->mean) throw Error(ErrorCode::invalid_argument, study.table + ": has no --mean");
    if (study.resume && !table->resume) throw Error(ErrorCode::invalid_argument, study.table + ": has no --resume");
    return table->run(study, options);
}

}  // namespace kith::bench
