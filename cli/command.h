// The definition of a command: a subcommand of the CLI11 app that, once parsed, leaves the work to do in `CommandRun`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace kith::cli {

// Exit codes of the tool; main.cpp maps every kith::ErrorCode to one of them.
inline constexpr int exit_ok = 0;
inline constexpr int exit_not_exact = 1;  // kith verify, kith groundtruth verify
inline constexpr int exit_usage = 2;      // usage or bad input
inline constexpr int exit_device = 3;     // device or memory

// The work of the chosen command; returns the exit code.
using CommandRun = std::function<int()>;

// Each adds its subcommand to `app`; parsing that subcommand sets `run`. `app` and `run` outlive the commands.
void add_search(CLI::App& app, CommandRun& run);
void add_graph(CLI::App& app, CommandRun& run);
void add_radius(CLI::App& app, CommandRun& run);
void add_select(CLI::App& app, CommandRun& run);
void add_distances(CLI::App& app, CommandRun& run);
void add_estimate(CLI::App& app, CommandRun& run);
void add_match(CLI::App& app, CommandRun& run);
void add_recommend(CLI::App& app, CommandRun& run);
void add_retrieve(CLI::App& app, CommandRun& run);
void add_verify(CLI::App& app, CommandRun& run);
void add_groundtruth(CLI::App& app, CommandRun& run);
void add_convert(CLI::App& app, CommandRun& run);
void add_plan(CLI::App& app, CommandRun& run);
void add_calibrate(CLI::App& app, CommandRun& run);
void add_info(CLI::App& app, CommandRun& run);
void add_demo(CLI::App& app, CommandRun& run);
void add_completion(CLI::App& app, CommandRun& run);

}  // namespace kith::cli
