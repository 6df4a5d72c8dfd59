// The estimated cost of a planned search: time from measured rates, memory from sizes.
#pragma once

#include <string>

#include "json.h"
#include "kith/kith.h"

namespace kith::cli {

struct Estimate {
    double seconds = 0;                        // 0: unknown
    double rate = 0;                           // distances a second over the whole search
    std::string source;                        // of the rate, or why there is none
    double point_bytes = 0;                    // the inputs
    double prepared_bytes = 0;                 // what the filter keeps of the points, or their tree
    bool has_tree = false, has_filter = true;  // prepared_bytes: of which of them, or the larger
    double workspace_bytes = 0;
    double result_bytes = 0;
    double total_bytes() const { return point_bytes + prepared_bytes + workspace_bytes + result_bytes; }
};

// `machine`: as of plan_on(), or "" for this one: by calibration(), where it has such a search, else a smaller search
// is timed, for about a third of a second.
Estimate estimate(const Shape& shape, const Options& options, const Plan& plan, const std::string& machine);
std::string estimate_text(const Estimate& estimate);
// By that smaller search. Throws what it throws.
double trial_seconds(const Shape& shape, const Options& options, const Plan& plan);
// "1.2 ms"; two digits.
std::string rough_duration(double seconds);
Json to_json(const Estimate& estimate);

}  // namespace kith::cli
