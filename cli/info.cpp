// kith info: what this build and this machine have.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <sstream>

#include "command.h"
#include "json.h"
#include "kith/algorithms.h"
#include "kith/io.h"
#include "options.h"

namespace kith::cli {
namespace {

struct MetricLine {
    const char* name;
    const char* aliases;
    const char* what;
};

constexpr MetricLine metrics[] = {
#define KITH_METRIC(name, type, aliases, what) {#name, aliases, what},
#include "kith/metrics.def"
#undef KITH_METRIC
};

Json lines_of(const std::string& text) {
    Json lines = Json::array();
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

struct Args {
    bool selectors = false;
    bool json = false;
};

// The contents of the library, and the formats of files.
std::string built() {
    std::string text = build_info() + "\nformats (name, suffixes, what)\n";
    std::istringstream lines(formats_help());
    for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
    return text;
}

int execute(const Args& args) {
    if (args.json) {
        Json list = Json::array();
        for (const MetricLine& metric : metrics) {
            Json aliases = Json::array();
            std::istringstream words(metric.aliases);
            for (std::string word; words >> word;) aliases.push_back(word);
            list.push_back({{"name", metric.name}, {"aliases", aliases}, {"what", metric.what}});
        }
        Json path_list = Json::array(), selector_list = Json::array();
        for (const PathInfo& path : paths())
            path_list.push_back({{"name", path.name},
                                 {"on_cpu", path.on_cpu},
                                 {"on_gpu", path.on_gpu},
                                 {"takes_selector", path.takes_selector},
                                 {"graphs_only", path.graphs_only},
                                 {"what", path.what}});
        for (const SelectorInfo& s : selectors())
            selector_list.push_back(
                {{"name", s.name}, {"on_gpu", s.on_gpu}, {"min_k", s.min_k}, {"max_k", s.max_k}, {"what", s.what}});
        print_json({{"command", "info"},
                    {"kith", KITH_VERSION},
                    {"build", lines_of(built())},
                    {"selectors", lines_of(selectors_help())},
                    {"paths", path_list},
                    {"selector_list", selector_list},
                    {"metrics", list},
                    {"formats", choices("format")}});
        return exit_ok;
    }
    fmt::print("{}", args.selectors ? selectors_help() : built());
    return exit_ok;
}

}  // namespace

void add_info(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command = app.add_subcommand("info", "What this build and this machine have: devices, metrics, formats");
    command->add_flag("--selectors", args->selectors,
                      "The selectors of kith select and of searches instead, with their ranges of k");
    command->add_flag("--json", args->json, "One JSON object on standard output, nothing else");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
