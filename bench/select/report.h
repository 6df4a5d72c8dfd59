// A measured table on the screen and as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "document.h"
#include "select/engine.h"

namespace kith::bench {

void print_head(const Table& table, Runner& runner, bool quick);
void print(const Table& table, const MeasuredPanel& panel, double read_rate);
void print_foot(const MeasuredTable& result, const Runner& runner);

// The table's name, then what every document starts with.
Json head(const std::string& name, const Runner& runner, bool quick);
// With every time that was measured, by case.
Json to_json(const MeasuredTable& result, Runner& runner, bool quick);
// The cases of a document of the same table, device, grid and statistic. Throws bad_file.
std::map<Case, Seconds> cases_of(const Json& document, const std::string& file, const Json& same);
// Its counts of operations per row, by slot. Throws bad_file.
std::map<Case, std::vector<double>> counts_of(const Json& document, const std::string& file);

}  // namespace kith::bench
