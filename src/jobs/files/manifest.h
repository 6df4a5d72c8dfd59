// The text of a job's manifest: written from a job, and parsed with all counts and indices checked
// against each other.
//
// Files in the job's folder are named by their path relative to it, all others by their absolute
// path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.h"

namespace kith::groundtruth {

// Limits of a manifest. A longer one is rejected before it is parsed; init() throws instead of
// writing one.
inline constexpr std::int64_t longest_manifest = std::int64_t{64} << 20;  // bytes
inline constexpr std::int64_t most_pieces = std::int64_t{1} << 18;        // shards and blocks
inline constexpr std::int64_t most_units = std::int64_t{1} << 22;

// Throws invalid_argument, with a remedy, if it would exceed the limits.
std::string manifest_text(const Job& job);

struct Manifest {
    Job job;  // without the numbers of the metric
    // Checksum of these numbers, if the metric has some.
    std::optional<std::uint32_t> numbers_checksum;
};
// `folder`: the job's; `path`: the manifest's, for messages. Throws bad_file, naming the fault.
Manifest parse_manifest(std::string_view text, const std::string& folder, const std::string& path);

std::uint32_t checksum_of(const std::vector<double>& numbers);

}  // namespace kith::groundtruth
