// Which code of a build a device runs: a binary of its architecture, or PTX that its driver
// compiles.
#pragma once

#include <string>
#include <string_view>

namespace kith::gpu {

// `architectures` are those that the build was compiled for, in CMake's words with commas between
// them: "80" is a binary and PTX, "80-real" the binary alone, "80-virtual" PTX alone. "sm_90a",
// "PTX of compute_80, compiled by the driver", or why there is none; capability is 90 for 9.0.
std::string device_code(std::string_view architectures, int capability);

}  // namespace kith::gpu
