// The names of the files in the folder of a job.
#pragma once

#include <string>

#include "groundtruth/job.h"

namespace kith::cli::groundtruth {

inline std::string manifest_path(const std::string& folder) {
    return folder + "/manifest.json";
}
// Of this job only: two that are made at once in one folder write two files.
inline std::string numbers_path(const Job& job) {
    return job.folder + "/metric-" + job.id + ".npy";
}

// Throws invalid_argument where the folder has a manifest.
void require_no_job(const std::string& folder);

}  // namespace kith::cli::groundtruth
