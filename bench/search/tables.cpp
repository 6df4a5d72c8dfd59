// The list of tables, and which study runs each.
#include "search/tables.h"

#include <algorithm>
#include <vector>

#include "kith/error.h"
#include "search/distance_kernels.h"
#include "search/kato.h"
#include "search/paths.h"
#include "search/radius.h"
#include "search/streams.h"

namespace kith::bench {

namespace {

struct SearchTable {
    std::string name;
    bool (*run)(const TableStudy& study, const Options& options);
};

bool run_streams(const TableStudy& s, const Options& options) {
    return run(StreamStudy{s.table, false, s.quick, s.repeat, s.json}, options);
}

const std::vector<SearchTable>& tables() {
    static const std::vector<SearchTable> all = [] {
        std::vector<SearchTable> list{{"kato", run_kato},
                                      {"radius", run_radius},
                                      {streams_table, run_streams},
                                      {kernels_table, run_kernels},
                                      {throughput_table, run_kernels}};
        for (const std::string& name : path_tables()) list.push_back({name, run_paths});
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

bool run(const TableStudy& study, const Options& options) {
    const SearchTable* const table = find(study.table);
    if (!table)
        throw Error(ErrorCode::invalid_argument,
                    "table: '" + study.table + "'; expected one of " + search_table_names());
    if (study.mean && table->run != run_paths)
        throw Error(ErrorCode::invalid_argument, study.table + ": has no --mean");
    if (study.resume && table->run != run_paths && table->run != run_kernels)
        throw Error(ErrorCode::invalid_argument, study.table + ": has no --resume");
    return table->run(study, options);
}

}  // namespace kith::bench
