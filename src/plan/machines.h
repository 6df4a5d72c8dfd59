// Machines whose rates were measured: what the planner needs to know of them, and how fast their searches were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/planner.h"

namespace kith::planner {

// A measured rate of searches of one path.
struct Rate {
    Path path;
    const char* metric;  // "": any that the path serves
    double d, k;
    double pairs;  // a second
};

struct KnownMachine {
    MeasuredMachine facts{};
    const char* source = "";  // where the measurements are written down
    Machine machine;
    double start_seconds = 0;    // of any search
    double copied_bytes = 0;     // a second, from host memory to the device and back; 0: nothing is copied
    double prepared_values = 0;  // coordinates a second; 0: in the rates
    std::vector<Rate> rates;     // by path, d, k
};
std::vector<KnownMachine> known_machines();
// Throws invalid_argument with the list.
KnownMachine known_machine(std::string_view name);

// Pairs a second of such a search there: interpolated between the measured d and k as powers of them, beyond the
// largest d by its reciprocal. 0 where neither the metric nor the path was measured.
double known_rate(const KnownMachine& machine, Path path, std::string_view metric, double d, double k);

}  // namespace kith::planner
