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

// The arguments of this run, for the documents that it writes.
void set_command(int argc, char** argv);
// The beginning of a document: device, driver, date, version, build, arguments, and the hash of the library's and the
// benchmark's sources (scripts/source-hash bench).
Json head(const std::string& device, bool quick);
// True for the fields of head() that may differ between a run and the one that it goes on from.
bool is_of_run(const std::string& field);
// Whole before it takes the place of the one before: a run that ends early leaves one of both.
void write(const Json& document, const std::string& file);
// A document that was written, from which this run takes times: what it writes names the sources of both. Throws
// bad_file.
Json read(const std::string& file);

}  // namespace kith::bench
