// Counts bytes against --memory.
#include "budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "kith/cut.h"
#include "kith/error.h"

namespace kith::cli {

Budget::Budget(std::int64_t memory)
    : memory_(memory), left_(static_cast<double>(std::max(memory - tool_bytes, std::min(memory, least_bytes)))) {}

void Budget::take(double bytes, const std::string& what) {
    if (memory_ == 0) return;
    if (bytes > left_) {
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("--memory: {}, of which {} are left; {} takes {}",
                                bytes_text(static_cast<double>(memory_)), bytes_text(left_), what, bytes_text(bytes)));
    }
    left_ -= bytes;
}

std::int64_t Budget::left() const {
    return memory_ == 0 ? 0 : std::max<std::int64_t>(1, static_cast<std::int64_t>(left_));
}

}  // namespace kith::cli
