// Documents of results: JSON, and figures as they are printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kith::bench {

using Json = nlohmann::ordered_json;

// NaN as null.
Json number(double x);
// Three significant digits; "-" for NaN.
std::string figure(double x);

// Device, date, version, build: what a document starts with.
Json head(const std::string& device, bool quick);
// Whole before it takes the place of the one before: a run that ends early leaves one of both.
void write(const Json& document, const std::string& file);
// A document that was written. Throws bad_file.
Json read(const std::string& file);

}  // namespace kith::bench
