// The rates of this machine measured by `kith calibrate`, and the time of a plan at such rates.
#pragma once

#include <string>
#include <vector>

#include "kith/plan.h"
#include "plan/rates/machines.h"

namespace kith::api {

// A measured machine by name, or the machine of a file. Throws invalid_argument, bad_file.
planner::KnownMachine machine_named(const std::string& name_or_file);

// This machine with the rates of its file, or null. The file is read once. If KITH_MACHINE names a
// broken file, each use throws bad_file. The object lasts as long as the process.
const planner::KnownMachine* calibrated();
// The state of that file.
Calibration calibration_found();

// Implement the public calibration_text() and devices_to_measure().
std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date);
std::vector<std::string> devices_to_measure();

// MeasuredTime for points and queries in host memory.
MeasuredTime time_by(const planner::KnownMachine& machine, const Shape& shape,
                     const Options& options, const Plan& plan);

// Likewise, by the planner's built-in rates of the instruction set; 0 seconds of what these have no
// rates for.
MeasuredTime time_by_costs(const Shape& shape, const Options& options, const Plan& plan);

}  // namespace kith::api
