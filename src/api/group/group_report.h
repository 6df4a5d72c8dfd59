// Combines the reports of several devices.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::api {

// A failed device, as the reason why others had to search `queries` again.
Fallback describe(const std::exception_ptr& error, const std::string& device, std::int64_t queries);

// Adds counters, reasons and times of a block to those of its device.
void add(const Report& block, Report& device);

// The total for devices with these names that searched `queries` among `points`, one block at a
// time, and for those that failed. A report without queries contributes nothing.
Report total(const std::vector<Report>& devices, const std::vector<std::string>& names,
             const std::vector<Fallback>& failures, std::int64_t queries, std::int64_t points);

}  // namespace kith::api
