// The subcommands of kith groundtruth.
#pragma once

#include <string>

#include "command.h"

namespace kith::cli::groundtruth {

void add_init(CLI::App& app, CommandRun& run);
void add_run(CLI::App& app, CommandRun& run);
void add_status(CLI::App& app, CommandRun& run);
void add_verify(CLI::App& app, CommandRun& run);
void add_merge(CLI::App& app, CommandRun& run);

// The folder of the job, which each of them takes.
void add_folder(CLI::App& command, std::string& folder);
// --strict, of those that read the points and queries.
void add_strict(CLI::App& command, bool& strict);

}  // namespace kith::cli::groundtruth
