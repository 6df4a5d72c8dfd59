// A measured table on the screen and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "select/engine.h"

namespace kith::bench {

using Json = nlohmann::ordered_json;

void print_head(const Table& table, Runner& runner, bool quick);
void print(const Table& table, const MeasuredPanel& panel, double read_rate);
void print_foot(const MeasuredTable& result, const Runner& runner);

// Version, build, device, date: what every JSON file of the benchmark starts with.
Json head(const std::string& name, const Runner& runner, bool quick);
Json to_json(const MeasuredTable& result, Runner& runner, bool quick);
void write(const Json& document, const std::string& file);
// A document that was written. Throws bad_file.
Json read(const std::string& file);

// NaN as null.
Json number(double x);
// Three significant digits; "-" for NaN.
std::string figure(double x);

}  // namespace kith::bench
