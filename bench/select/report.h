// A measured table on the screen and as JSON.
#pragma once

#include "document.h"
#include "select/engine.h"

namespace kith::bench {

void print_head(const Table& table, Runner& runner, bool quick);
void print(const Table& table, const MeasuredPanel& panel, double read_rate);
void print_foot(const MeasuredTable& result, const Runner& runner);

// The table's name, then what every document starts with.
Json head(const std::string& name, const Runner& runner, bool quick);
Json to_json(const MeasuredTable& result, Runner& runner, bool quick);

}  // namespace kith::bench
