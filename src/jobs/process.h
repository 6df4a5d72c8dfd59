// Which process this is, on which machine, for others to see whether it still runs.
#pragma once

#include <cstdint>
#include <string>

#include "jobs/fields.h"
#include "jobs/json.h"

namespace kith::groundtruth {

struct Process {
    std::string host;
    std::string boot;           // of the machine since it started; "" where the system does not say
    std::string pid_namespace;  // of its process ids
    std::int64_t pid = 0;
    std::int64_t started = 0;  // as the system counts: tells it from a later one of the same pid
};

Process this_process();
// Whether it ran on this machine, among the processes that are seen from here, and does no longer.
// False of all others: of those nothing is known.
bool is_gone(const Process& process);

Json to_json(const Process& process);
Process process_from(const Fields& fields);  // throws bad_file

}  // namespace kith::groundtruth
