// Machines with measured rates: their facts for the planner, and the speed of their searches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/planner.h"

namespace kith::planner {

struct KnownMachine {
    MeasuredMachine facts{};
    std::string date;    // date of the latest measurement
    std::string source;  // the document or tool that has the measurements
    Machine machine;
    double start_seconds = 0;    // fixed cost of a search
    double copied_bytes = 0;     // per second, between host and device memory; 0: the rates include
                                 // copies
    double prepared_values = 0;  // coordinates per second; 0: the rates include preparation
    std::vector<MeasuredRate> rates;
};
// The machines in src/plan/machines.
std::vector<KnownMachine> known_machines();
// The known machine with that name. Throws invalid_argument with the list of names.
KnownMachine known_machine(std::string_view name);

// Reads a machine from text in the format of src/plan/machines/*.json. Throws bad_file, which names
// the origin.
KnownMachine read_machine(std::string_view text, const std::string& origin);

// The machine as such a text.
std::string written(const KnownMachine& machine);

// The search whose time is asked for.
struct Asked {
    std::string device;  // named as in MeasuredRate
    Path path = Path::exact;
    std::string_view metric;
    double n = 0, q = 0, d = 0, k = 0;
    bool prepared = false;  // the points are prepared
    double faster = 1;      // than the measured machine: ratio of the threads
};
// Seconds of such a search by the machine's rates. Interpolates power laws between the measured d
// and k; beyond the largest d the time grows in proportion to it. 0 if there is no rate for the
// path, with this metric or with any.
double known_seconds(const KnownMachine& machine, const Asked& asked);
// The largest k measured with this path at the smallest measured d that is not below asked.d, else
// at the largest one. 0 if the path was not measured.
double most_measured_k(const KnownMachine& machine, const Asked& asked);

}  // namespace kith::planner
