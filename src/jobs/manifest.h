// The text of a job's manifest: written from a job, and read with each count and index held against
// the others.
//
// A file in the folder of the job is named by its path from there, any other by its absolute path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.h"

namespace kith::groundtruth {

// What a manifest may hold: a longer one is refused before it is read. init() refuses to make one.
inline constexpr std::int64_t longest_manifest = std::int64_t{64} << 20;  // bytes
inline constexpr std::int64_t most_pieces = std::int64_t{1} << 18;        // shards and blocks
inline constexpr std::int64_t most_units = std::int64_t{1} << 22;

// Throws invalid_argument, with a remedy, where it would be longer.
std::string manifest_text(const Job& job);

struct Manifest {
    Job job;  // without the numbers of the metric
    // Of the numbers, where the metric has some.
    std::optional<std::uint32_t> numbers_checksum;
};
// `folder`: of the job; `path`: the manifest's, for messages. Throws bad_file, naming what is
// wrong.
Manifest parse_manifest(std::string_view text, const std::string& folder, const std::string& path);

std::uint32_t checksum_of(const std::vector<double>& numbers);

}  // namespace kith::groundtruth
