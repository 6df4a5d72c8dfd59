// The names of the files in the folder of a job.
#pragma once

#include <string>
#include <vector>

#include "jobs/job.h"

namespace kith::groundtruth {

inline std::string manifest_path(const std::string& folder) {
    return folder + "/manifest.json";
}
// Of this job only: two that are made at once in one folder write two files.
inline std::string numbers_path(const std::string& folder, const std::string& id) {
    return folder + "/metric-" + id + ".npy";
}
inline std::string numbers_path(const Job& job) {
    return numbers_path(job.folder, job.id);
}

// The names of what lies in a folder, in no order; none where there is no such folder. Throws
// bad_file where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

// Throws invalid_argument where the folder has a manifest.
void require_no_job(const std::string& folder);

}  // namespace kith::groundtruth
