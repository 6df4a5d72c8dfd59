// Identifies this process and its machine, so that others can tell whether it still runs.
#pragma once

#include <cstdint>
#include <string>

#include "jobs/files/fields.h"
#include "jobs/files/json.h"

namespace kith::groundtruth {

struct Process {
    std::string host;
    std::string boot;  // id of the machine's current boot; "" if the system does not provide one
    std::string pid_namespace;  // of its process ids
    std::int64_t pid = 0;
    std::int64_t started = 0;  // in the system's ticks: distinguishes reuse of the pid
};

Process this_process();
// True if the process ran on this machine, in a visible pid namespace, and no longer exists. False
// for all other processes, of which nothing is known.
bool is_gone(const Process& process);

Json to_json(const Process& process);
Process process_from(const Fields& fields);  // throws bad_file

}  // namespace kith::groundtruth
