// Options that several commands share: declared once, parsed once, turned into kith::Options once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/kith.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kith::cli {

// Which distance.
struct DistanceArgs {
    std::string metric = "sqeuclidean";
    double p = 2.0;
    std::string formula;
    double start = 0.0;
    std::string inverse_covariance;  // a file
    std::string variances;           // a file
    bool packed_bits = false;

    CLI::Option* metric_given = nullptr;
    CLI::Option* p_given = nullptr;
    CLI::Option* formula_given = nullptr;
    CLI::Option* start_given = nullptr;
};
void add_distance(CLI::App& command, DistanceArgs& args);
// `numbers` receives those that the metric then points to. Throws invalid_argument.
Metric make_metric(const DistanceArgs& args, std::vector<double>& numbers);

// How to run it.
struct ExecutionArgs {
    std::string device = "auto";
    int threads = 0;
    std::string memory;
    std::string path;
    std::string selector;
    std::string isa;
};
void add_execution(CLI::App& command, ExecutionArgs& args);
void set_execution(const ExecutionArgs& args, Options& options);

// What select() is to do.
struct SelectArgs {
    bool largest = false;
    bool unsorted = false;
    std::string order;
};
void add_select_options(CLI::App& command, SelectArgs& args, const char* group);
void set_select(const SelectArgs& args, Options& options);

// What to say about it.
struct OutputArgs {
    bool json = false;
    bool quiet = false;
};
void add_output(CLI::App& command, OutputArgs& args);

// "f32", ..., "i64". Throws invalid_argument with the list.
ElementType parse_type(const std::string& text);

// The values that an option takes, by its long name, for completion; empty where they are not a list.
std::vector<std::string> choices(std::string_view option);
// Of metrics.def, in its order.
std::vector<std::string> metric_names();

}  // namespace kith::cli
