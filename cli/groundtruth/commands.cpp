// kith groundtruth: exact neighbours of many queries among many points, in units that can be interrupted, continued,
// verified and spread over machines.
#include "groundtruth/commands.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace kith::cli {

void add_groundtruth(CLI::App& app, CommandRun& run) {
    CLI::App* command = app.add_subcommand(
        "groundtruth", "A search or graph in units: interrupted, continued, verified, spread over machines");
    command->footer(
        "kith groundtruth COMMAND --help says more. init writes the manifest into a folder; any number of run, on any\n"
        "machines that see the folder, do the units; merge writes what one search would have written.");
    command->require_subcommand(1);
    groundtruth::add_init(*command, run);
    groundtruth::add_run(*command, run);
    groundtruth::add_status(*command, run);
    groundtruth::add_verify(*command, run);
    groundtruth::add_merge(*command, run);
}

namespace groundtruth {

void add_folder(CLI::App& command, std::string& folder) {
    command.add_option("folder", folder, "The folder of the job")->type_name("DIR")->required();
}

void add_strict(CLI::App& command, bool& strict) {
    command.add_flag("--strict", strict, "Refuse a job that reads files outside its folder (status lists them)");
}

}  // namespace groundtruth
}  // namespace kith::cli
