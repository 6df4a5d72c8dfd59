// The memory that --memory leaves for the data of a command.
#pragma once

#include <cstdint>
#include <string>

namespace kith::cli {

// The tool's own memory: its code, libraries and threads.
inline constexpr std::int64_t tool_bytes = std::int64_t{24} << 20;
// For a smaller memory, what is for rows and workspace: all of it, up to this.
inline constexpr std::int64_t least_bytes = std::int64_t{1} << 20;

// A memory that inputs, results and workspace share.
class Budget {
public:
    // For the whole process; 0: what is free is not counted here.
    explicit Budget(std::int64_t memory);
    // Throws out_of_memory where so much is not left for `what` ("base.fbin (1000 x 128 f32)").
    void take(double bytes, const std::string& what);
    // As Options::memory: 0 where there is no limit, else at least 1.
    std::int64_t left() const;

private:
    std::int64_t memory_;
    double left_;
};

}  // namespace kith::cli
