// Distributes blocks of work to several devices of one host, one thread each, and handles failures.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "exact/report/progress.h"

namespace kith::scale {

// A failed device: its position in the list, its block at the time (-1: none yet), and the error.
struct Failure {
    int device = 0;
    std::int64_t block = -1;
    std::exception_ptr error;
};

struct Outcome {
    std::vector<Failure> failures;   // in the order of time, at most one per device
    std::vector<std::int64_t> left;  // blocks that no device has completed, ascending
};

enum class Sharing : std::uint8_t {
    any,  // any free device takes a block; blocks of a failed device go to others
    own,  // device b % devices does block b, or no one does
};

// Calls work(device, block, progress) for blocks [0, blocks) on one thread per device, until all
// are done or all devices have failed. A device fails by an exception and gets no more blocks. A
// caller's error (invalid_argument) or a cancellation is no device failure: it ends the other
// devices too, and is thrown. `progress` counts for all devices, calls its callback from the
// calling thread, and cancels all.
using BlockWork = std::function<void(int device, std::int64_t block, ProgressMeter& progress)>;
Outcome run_blocks(int devices, std::int64_t blocks, Sharing sharing, const char* stage,
                   ProgressMeter& progress, const BlockWork& work);

}  // namespace kith::scale
