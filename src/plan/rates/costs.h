// The time that a path takes: the work of a search, counted in a few kinds, times the rates of a
// machine, which are data (src/plan/costs/*.json).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "plan/planner.h"

namespace kith::planner {

// Kinds of work. A path has each of them or not; what one takes is a rate of the path.
enum class Term : std::uint8_t {
    call,          // a search
    wake,          // another thread that is woken, in each pass
    point,         // a point that is prepared; of a tree, times log2(n) / 16
    point_value,   // a coordinate of one
    form_value,    // a coordinate of the sample that the form of a GPU's filter follows from
    sample_value,  // a product with a sample that a coarse filter is chosen by
    page_value,  // a coordinate that is written to new memory, which threads wait for each other to
                 // get
    read_value,  // a coordinate of a point that is read, once a pass
    byte,        // of points, queries and results between host and device
    query,       // a query
    query_value,     // a coordinate of one
    kept,            // a neighbour that is kept, of each range of the points
    kept_value,      // a coordinate of one, in binary64
    page_kept,       // a neighbour's place in new memory
    merge,           // a neighbour that is kept, where there are several ranges
    offer,           // a point that passes a threshold on the way to the neighbours
    pair,            // a query and a point that are compared
    pair_value,      // a coordinate of both
    row_pair,        // a query and one of the points' own rows
    row_pair_value,  // a coordinate of both
};
inline constexpr std::array term_names = {
    "call",       "wake",  "point", "point_value", "form_value", "sample_value",  "page_value",
    "read_value", "byte",  "query", "query_value", "kept",       "kept_value",    "page_kept",
    "merge",      "offer", "pair",  "pair_value",  "row_pair",   "row_pair_value"};
using Terms = std::array<double, term_names.size()>;

// The work of a search by a path, of each of `threads` threads; of a GPU (threads 0), all of it.
// `ready`: the form of the points that the path searches has been made before.
Terms work_of(Path path, const Request& request, bool ready, int threads, bool packs = false);

// Seconds for one of each kind, of the path and, where it has rates of its own, the metric.
struct PathRates {
    Path path = Path::exact;
    std::string metric;  // "": any other
    Terms seconds{};
};
struct CostRates {
    std::string name;  // of the instruction set, or the GPU's architecture: "avx512", "sm_90a"
    std::string source;
    std::vector<PathRates> paths;
};
// The rates in the format of src/plan/costs/*.json. Throws bad_file, which names the origin.
CostRates read_costs(std::string_view text, const std::string& origin);
// The built-in ones of an instruction set of CPUs, or of GPUs. Hopper's serve all GPUs: only ratios
// between paths matter.
const CostRates& built_in_costs(std::string_view isa);

// Seconds of a search by a path.
struct Cost {
    double seconds = 0;  // infinity where the path has no rates
    double prepare = 0;  // of them those for the points
    double sample = 0;   // and those that are spent where a sample says that the path does not pay
    double pairs = 0;    // and those for comparing
    bool assumed = false;  // by rates of other metrics: this one's have not been measured
};
// `packs`: also of a few queries that would be compared with the points' own rows.
Cost cost_of(const CostRates& rates, Path path, const Request& request, bool ready, int threads,
             bool packs = false);

}  // namespace kith::planner
