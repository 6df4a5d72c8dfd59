// All tables, by name.
#include <fmt/format.h>

#include "kith/error.h"
#include "select/study.h"
#include "select/table.h"

namespace kith::bench {

namespace {

std::vector<Table> all_tables() {
    std::vector<Table> all;
    for (const auto& tables : {tang_tables(), hanak_tables(), sismanis_tables(), garcia_tables()})
        all.insert(all.end(), tables.begin(), tables.end());
    return all;
}

}  // namespace

std::string table_names() {
    std::string names;
    for (const Table& each : all_tables()) names += (names.empty() ? "" : ", ") + each.name;
    return names;
}

std::vector<std::string> tables_of_papers() {
    std::vector<std::string> names;
    for (const Table& each : all_tables()) names.push_back(each.name);
    return names;
}

Table table_named(const std::string& name) {
    for (const Table& each : all_tables())
        if (each.name == name) return each;
    throw Error(ErrorCode::invalid_argument, fmt::format("--table: '{}'; expected one of {}", name, table_names()));
}

}  // namespace kith::bench
