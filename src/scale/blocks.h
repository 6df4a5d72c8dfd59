// Blocks of work for several devices of one host: a thread for each, and what a device leaves that
// fails.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "exact/progress.h"

namespace kith::scale {

// A device that failed: its position in the list, the block that it was at (-1: none yet), and how.
struct Failure {
    int device = 0;
    std::int64_t block = -1;
    std::exception_ptr error;
};

struct Outcome {
    std::vector<Failure> failures;   // in the order of their time, one for a device at most
    std::vector<std::int64_t> left;  // blocks that no device has done, ascending
};

enum class Sharing : std::uint8_t {
    any,  // each block is done by whichever device is free; that of a device that fails goes to the
          // others
    own,  // block b is done by device b % devices or not at all
};

// Calls work(device, block, progress) for blocks [0, blocks) on a thread for each of the devices,
// until all are done or all devices have failed. A device fails by an exception, and is given
// nothing more. But for one that is the caller's fault (invalid_argument) or a cancellation: that
// ends the others too, and is thrown. `progress` counts for all devices, calls its callback from
// the calling thread, and cancels all.
using BlockWork = std::function<void(int device, std::int64_t block, ProgressMeter& progress)>;
Outcome run_blocks(int devices, std::int64_t blocks, Sharing sharing, const char* stage,
                   ProgressMeter& progress, const BlockWork& work);

}  // namespace kith::scale
