// kith calibrate: measures this machine's rates, keeps them in the user's configuration folder, says what they change.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <array>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "command.h"
#include "estimate.h"
#include "json.h"
#include "kith/error.h"
#include "kith/output.h"
#include "kith/stopwatch.h"
#include "kith/version.h"
#include "print.h"
#include "rates.h"
#include "say.h"

namespace kith::cli {
namespace {

struct Args {
    std::string file;
    bool quiet = false, json = false;
};

// A CPU's grid takes about half of it; the GPUs share theirs.
constexpr double cpu_seconds = 32, gpus_seconds = 20;

// The searches whose plans and estimates are compared.
constexpr std::array<Shape, 10> compared{{
    {1000, 1, 128, 10, ElementType::f32, false, false},
    {1000, 1000, 16, 10, ElementType::f32, false, false},
    {20000, 100, 3, 10, ElementType::f32, false, false},
    {20000, 1000, 64, 10, ElementType::f32, false, false},
    {100000, 1, 128, 10, ElementType::f32, false, true},
    {100000, 10000, 3, 10, ElementType::f32, false, false},
    {100000, 10000, 16, 100, ElementType::f32, false, false},
    {100000, 10000, 128, 10, ElementType::f32, false, false},
    {60000, 10000, 784, 100, ElementType::f32, false, false},
    {1000000, 10000, 96, 10, ElementType::f32, false, true},
}};

struct Change {
    std::string device;
    Shape shape;
    std::string path_before, path_after;
    double before = 0, after = 0;  // seconds; 0: unknown
};

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// The file, its folder made.
std::string target(const Args& args) {
    std::string file = args.file.empty() ? calibration().file : args.file;
    if (file.empty())
        throw Error(ErrorCode::invalid_argument,
                    "--out: neither XDG_CONFIG_HOME nor HOME names a folder; expected the name of a file");
    if (!file.ends_with(".json"))
        throw Error(ErrorCode::invalid_argument, fmt::format("--out: '{}'; expected a name that ends in .json", file));
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error)
        throw Error(ErrorCode::bad_file, fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
    return file;
}

// The rates known before: the file that is replaced, where it can be read, else nothing.
std::optional<std::string> earlier(const std::string& file) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    try {
        plan_on(file, compared[0]);
        return file;
    } catch (const Error&) {
        return std::nullopt;
    }
}

// The two sides of each comparison; `file`: "" for what this machine says without one.
void compare(const std::string& device, const std::string& file, bool is_after, std::vector<Change>& changes) {
    Options options;
    options.device = device;
    for (const Shape& shape : compared) {
        const auto same = [&](const Change& c) { return c.device == device && c.shape == shape; };
        auto at = std::ranges::find_if(changes, same);
        if (at == changes.end()) at = changes.insert(changes.end(), {device, shape, "", ""});
        try {
            const Plan made = file.empty() ? plan(shape, options) : plan_on(file, shape, options);
            (is_after ? at->path_after : at->path_before) = path_name(made);
            (is_after ? at->after : at->before) =
                file.empty() ? trial_seconds(shape, options, made) : measured_time(file, shape, options, made).seconds;
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) throw;
            (is_after ? at->path_after : at->path_before) = "none";
        }
    }
}

std::string row(const Change& c) {
    const auto time = [](double seconds) { return seconds > 0 ? rough_duration(seconds) : std::string("unknown"); };
    const Shape& s = c.shape;
    const std::string path =
        c.path_before == c.path_after ? c.path_after : fmt::format("{} -> {}", c.path_before, c.path_after);
    return fmt::format("{:8} {:>9} {:>7} {:>5} {:>4} {:9} {:24} {:>10} {:>10}\n", c.device, grouped(s.n), grouped(s.q),
                       s.d, s.k, s.prepared ? "prepared" : "one call", path, time(c.before), time(c.after));
}

void print(const Args& args, const std::string& file, std::size_t rates, double seconds, bool had,
           const std::vector<Change>& changes) {
    const auto differ = std::ranges::count_if(changes, [](const Change& c) { return c.path_before != c.path_after; });
    if (args.json) {
        Json object = {{"command", "calibrate"}, {"kith", KITH_VERSION}, {"file", file},
                       {"rates", rates},         {"seconds", seconds},   {"plans_that_differ", differ}};
        for (const Change& c : changes)
            object["changes"].push_back({{"device", c.device},
                                         {"shape", to_json(c.shape)},
                                         {"prepared", c.shape.prepared},
                                         {"path", {c.path_before, c.path_after}},
                                         {"seconds", {c.before, c.after}}});
        return print_json(object);
    }
    std::string text = fmt::format("{:8} {:>9} {:>7} {:>5} {:>4} {:9} {:24} {:>10} {:>10}\n", "device", "n", "q", "d",
                                   "k", "", "path", "before", "after");
    for (const Change& c : changes) text += row(c);
    fmt::print("{}\nBefore: {}. Plans that differ: {}. Answers never do.\n{} rates in {}, measured in {}\n", text,
               had ? "by the file that was replaced" : "by a smaller search, timed for each", differ, rates, file,
               duration(seconds));
}

int execute(const Args& args) {
    const std::string file = target(args);
    OutputSet outputs;
    outputs.add_bytes("--out", file);
    const std::vector<std::string> devices = devices_to_measure();
    const std::optional<std::string> before = earlier(file);
    std::vector<Change> changes;
    for (const std::string& device : devices) compare(device, before.value_or(""), false, changes);
    const Stopwatch clock;
    std::vector<MeasuredRate> rates;
    for (const std::string& device : devices) {
        const double seconds = device == "cpu" ? cpu_seconds : gpus_seconds / static_cast<double>(devices.size() - 1);
        if (!args.quiet) say("kith: measuring {}, for up to {:.0f} s\n", device, seconds);
        const std::vector<MeasuredRate> measured = measured_rates(device, seconds, [](const Cell&) {});
        rates.insert(rates.end(), measured.begin(), measured.end());
    }
    const double seconds = clock.seconds();
    const std::string text = calibration_text(rates, today());
    FileWriter writer(outputs, file);
    writer.write(text.data(), static_cast<std::int64_t>(text.size()));
    writer.finish();
    outputs.commit();
    for (const std::string& device : devices) compare(device, file, true, changes);
    print(args, file, rates.size(), seconds, before.has_value(), changes);
    return exit_ok;
}

}  // namespace

void add_calibrate(CLI::App& app, CommandRun& run) {
    const auto args = std::make_shared<Args>();
    CLI::App* command =
        app.add_subcommand("calibrate", "Measure this machine in under a minute, for the estimates of kith plan");
    command
        ->add_option("-o,--out", args->file,
                     "The file of rates; without it that of KITH_MACHINE, or kith/machine.json in XDG_CONFIG_HOME or "
                     "~/.config")
        ->type_name("FILE");
    command->add_flag("--json", args->json, "One JSON object on standard output, nothing else");
    command->add_flag("--quiet", args->quiet, "No messages on standard error");
    command->callback([args, &run] { run = [args] { return execute(*args); }; });
}

}  // namespace kith::cli
