// The rates of this machine, where `kith calibrate` has measured them, and the time of a plan by a
// machine's rates.
#pragma once

#include <string>
#include <vector>

#include "kith/plan.h"
#include "plan/machines.h"

namespace kith::api {

// A measured machine, or the machine of a file. Throws invalid_argument, bad_file.
planner::KnownMachine machine_named(const std::string& name_or_file);

// This machine with the rates of its file, or null. The file is read once; one that KITH_MACHINE
// names and that is broken throws bad_file at each use. Lasts as long as the process.
const planner::KnownMachine* calibrated();
// What is known of that file.
Calibration calibration_found();

// Of the public calibration_text() and devices_to_measure().
std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date);
std::vector<std::string> devices_to_measure();

// MeasuredTime of points and queries in host memory.
MeasuredTime time_by(const planner::KnownMachine& machine, const Shape& shape,
                     const Options& options, const Plan& plan);

// The same by the planner's built-in rates of the instruction set; 0 seconds of what these have no
// rates for.
MeasuredTime time_by_costs(const Shape& shape, const Options& options, const Plan& plan);

}  // namespace kith::api
