// The files of neighbours that a command writes: their options, the outputs opened for them, their names in what it
// says.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "files.h"
#include "json.h"
#include "kith/io.h"
#include "options.h"

namespace kith::cli {

struct ResultArgs {
    std::string ids;
    std::string distances;
    std::string out;
    bool f64 = false;
    bool force = false;
};

// --ids, --distances, --out.
void add_result_files(CLI::App& command, ResultArgs& args, const char* group);
// --force, --f64.
void add_result_form(CLI::App& command, ResultArgs& args, const char* group);

// Refuses --f64 next to an --out that holds f32, and names for --out that no format has.
void check_out(const ResultArgs& args);
// Opens what is asked for. `train`, `test`: data sets that write_out() will be given as well.
void open_results(OutputSet& outputs, const ResultArgs& args, const Metric& metric, bool train, bool test);
// The files of --ids and --distances, of outputs that are open. Refuses files, --out too, that do not hold the ids of
// this many points.
ResultFiles result_files(OutputSet& outputs, const ResultArgs& args, std::int64_t rows, std::int64_t k,
                         std::int64_t points);
// The file of --out, with base and queries where those are not empty.
void write_out(OutputSet& outputs, const ResultArgs& args, const Neighbors& neighbors, const MatrixView& base,
               const MatrixView& queries);

// {"ids": "...", "out": "..."}: of what is asked for.
Json to_json(const ResultArgs& args);
// A line for each of such names.
void say_written(const Json& files);

// The end of what a command prints as JSON: its times, named without "_seconds", and its files.
void add_end(Json& object, std::initializer_list<std::pair<const char*, double>> times, const Json& files);
// The end of what it says instead: `text`, and its files; nothing where it is to be quiet.
void say_end(const OutputArgs& output, const std::string& text, const Json& files);

}  // namespace kith::cli
