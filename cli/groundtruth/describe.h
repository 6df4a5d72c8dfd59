// The text of the commands about a job, and how they call the library.
#pragma once

#include <string>

#include "json.h"
#include "kith/groundtruth.h"
#include "progress.h"

namespace kith::cli::groundtruth {

using namespace kith::groundtruth;  // NOLINT: whose calls these commands are

// The JSON of the commands about a job.
Json job_json(const JobInfo& job);
// "17 of 120 units done, 3 workers at 1.2 G distances/s, 0:12:30 left"
std::string described(const Status& status);

// Draws where a call stands; ends it once Ctrl-C was pressed. The bar must outlive it.
OnStep drawn(ProgressBar& bar);

}  // namespace kith::cli::groundtruth
