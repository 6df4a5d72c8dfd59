// Machines whose rates were measured: what the planner needs to know of them, and how fast their
// searches were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/planner.h"

namespace kith::planner {

struct KnownMachine {
    MeasuredMachine facts{};
    std::string date;    // of the latest measurement
    std::string source;  // where the measurements are written down
    Machine machine;
    double start_seconds = 0;  // of any search
    double copied_bytes = 0;   // a second, from host memory to the device and back; 0: in the rates
    double prepared_values = 0;  // coordinates a second; 0: in the rates
    std::vector<MeasuredRate> rates;
};
// Those of src/plan/machines.
std::vector<KnownMachine> known_machines();
// One of them. Throws invalid_argument with the list.
KnownMachine known_machine(std::string_view name);

// The machine that a text in the format of src/plan/machines/*.json describes. Throws bad_file,
// which names the origin.
KnownMachine read_machine(std::string_view text, const std::string& origin);

// That text of a machine.
std::string written(const KnownMachine& machine);

// What is asked of the rates.
struct Asked {
    std::string device;  // as of a rate
    Path path = Path::exact;
    std::string_view metric;
    double n = 0, q = 0, d = 0, k = 0;
    bool prepared = false;  // the points are
    double faster = 1;      // than the machine of the rates: threads over threads
};
// Seconds of such a search by the machine's rates: interpolated between the measured d and k as
// powers of them, beyond the largest d in its proportion. 0 where neither the metric nor the path
// was measured.
double known_seconds(const KnownMachine& machine, const Asked& asked);
// The largest k that the path was measured with at the nearest d or beyond; 0: not measured.
double most_measured_k(const KnownMachine& machine, const Asked& asked);

}  // namespace kith::planner
