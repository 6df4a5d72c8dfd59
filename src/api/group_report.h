// The reports of several devices as one.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::api {

// A device that failed, as a reason why others had to search `queries` again.
Fallback describe(const std::exception_ptr& error, const std::string& device, std::int64_t queries);

// Counters, reasons and times of a block to those of its device.
void add(const Report& block, Report& device);

// Of devices named so that have searched `queries` among `points`, each a block at a time (a report
// without queries: nothing), and of those that failed.
Report total(const std::vector<Report>& devices, const std::vector<std::string>& names,
             const std::vector<Fallback>& failures, std::int64_t queries, std::int64_t points);

}  // namespace kith::api
