// Names of the files in a job's folder.
#pragma once

#include <string>
#include <vector>

#include "jobs/job.h"

namespace kith::groundtruth {

inline std::string manifest_path(const std::string& folder) {
    return folder + "/manifest.json";
}
// Includes the job's id: two jobs made at once in one folder write two files.
inline std::string numbers_path(const std::string& folder, const std::string& id) {
    return folder + "/metric-" + id + ".npy";
}
inline std::string numbers_path(const Job& job) {
    return numbers_path(job.folder, job.id);
}

// The names of the entries of a folder, in no order; empty if it does not exist. Throws bad_file if
// it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

// Throws invalid_argument if the folder has a manifest.
void require_no_job(const std::string& folder);

}  // namespace kith::groundtruth
