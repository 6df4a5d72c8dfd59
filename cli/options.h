// Options that several commands share: declared once, parsed once, turned into kith::Options once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/kith.h"
#include "kith/output.h"

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
// Which of them a command has next to --metric and --p, and what stands for those that are not given.
struct DistanceChoice {
    const char* metric = "sqeuclidean";
    bool formula = true;
    bool packed_bits = true;
    // --inverse-covariance and --variances.
    bool parameters = true;
    // The source of their estimates where they are not given; "" where they have to be.
    const char* estimated_from = "the base points";
};
// For divergences.
inline constexpr DistanceChoice of_two_samples = {
    .metric = "euclidean", .formula = false, .packed_bits = false, .estimated_from = ""};
void add_distance(CLI::App& command, DistanceArgs& args, const DistanceChoice& choice = {});
// The choice's metric where none was given. `numbers` receives those that the metric then points to. Throws
// invalid_argument.
Metric make_metric(const DistanceArgs& args, std::vector<double>& numbers);
// The files that make_metric() reads are no outputs of the command.
void reads_distance(OutputSet& outputs, const DistanceArgs& args);

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

// The request to select().
struct SelectArgs {
    bool largest = false;
    bool unsorted = false;
    std::string order;
};
void add_select_options(CLI::App& command, SelectArgs& args, const char* group);
void set_select(const SelectArgs& args, Options& options);

// The settings of its output.
struct OutputArgs {
    bool json = false;
    bool quiet = false;
};
void add_output(CLI::App& command, OutputArgs& args);

// "f32", ..., "i64". Throws invalid_argument with the list.
ElementType parse_type(const std::string& text);

// The values that an option takes, by its long name, for completion; empty where they are not a list.
std::vector<std::string> choices(std::string_view option);
// For metrics.def, in its order.
std::vector<std::string> metric_names();

}  // namespace kith::cli
