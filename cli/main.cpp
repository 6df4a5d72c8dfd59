// The command line tool: parses, runs the chosen command, maps every error to one line and an exit code.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cctype>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "interrupt.h"
#include "kith/did_you_mean.h"
#include "kith/error.h"
#include "kith/output.h"
#include "kith/version.h"
#include "say.h"

namespace kith::cli {
namespace {

int exit_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
        case ErrorCode::bad_file:
            return exit_usage;
        case ErrorCode::device:
        case ErrorCode::out_of_memory:
            return exit_device;
        case ErrorCode::cancelled:
            return interrupt_exit_code();
    }
    return exit_usage;
}

int fail(const std::string& text, int code) {
    std::string message = printable(text);
    message.erase(message.find_last_not_of(' ') + 1);
    say("kith: {}\n", message);
    return code;
}

// The code of a command that is done, once all that it printed has arrived.
int finish(int code) {
    return printed() ? code : fail("cannot write to standard output", exit_usage);
}

// The command that was chosen, and with it the commands that it was chosen from: "groundtruth run".
struct Chosen {
    const CLI::App* command;
    std::string name;
};

Chosen chosen_in(const CLI::App& app) {
    Chosen chosen{&app, ""};
    for (auto commands = app.get_subcommands(); !commands.empty(); commands = chosen.command->get_subcommands()) {
        chosen.command = commands[0];
        chosen.name += (chosen.name.empty() ? "" : " ") + chosen.command->get_name();
    }
    return chosen;
}

std::vector<std::string> commands_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* other : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(other->get_name());
    return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

// "kith help search" as "kith search --help".
std::vector<std::string> words(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (words.empty() || words[0] != "help") return words;
    words.erase(words.begin());
    words.emplace_back("--help");
    return words;
}

// The parser's message, with what it leaves out: which argument has no name, what is missing after an option.
std::string said_by_parser(const CLI::App& command, const CLI::ParseError& error) {
    for (const CLI::Option* option : command.get_options()) {
        const std::string name = option->get_name();
        if (dynamic_cast<const CLI::RequiredError*>(&error) && option->get_positional() &&
            error.what() == name + " is required") {
            std::string shown = name, meaning = option->get_description();
            std::transform(shown.begin(), shown.end(), shown.begin(), [](unsigned char c) { return std::toupper(c); });
            if (!meaning.empty()) meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
            return fmt::format("{} is required: {}", shown, meaning);
        }
        if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) &&
            std::string_view(error.what()).starts_with(name + ":") &&
            std::string_view(error.what()).ends_with(" missing"))
            return fmt::format("{}: expected a value behind it ({})", name, option->get_type_name());
    }
    return error.what();
}

// "-metric" is "-m etric" to the parser: the long option that was probably meant.
std::string one_dash_too_few(const CLI::App& command, const std::vector<std::string>& given) {
    const std::vector<std::string> options = options_of(command);
    for (const std::string& word : given) {
        const std::string meant = "-" + word.substr(0, word.find('='));
        if (std::find(options.begin(), options.end(), meant) != options.end())
            return fmt::format(" (did you mean {}?)", meant);
    }
    return "";
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& given) {
    const auto [command, name] = chosen_in(app);
    const auto rest = command->remaining();
    if (const auto commands = commands_of(*command); !commands.empty()) {
        const std::string of = name.empty() ? "" : name + " ";
        if (!rest.empty() && rest[0].starts_with("--"))
            return fail(fmt::format("not expected: {}{} (see kith {}--help)", rest[0],
                                    did_you_mean(rest[0], options_of(*command)), of),
                        exit_usage);
        if (!rest.empty())
            return fail(fmt::format("unknown command '{}{}'{}; expected one of {}", of, rest[0],
                                    did_you_mean(rest[0], commands), fmt::join(commands, ", ")),
                        exit_usage);
        return fail(fmt::format("expected a command: {} (see kith {}--help)", fmt::join(commands, ", "), of),
                    exit_usage);
    }
    // An option that is unknown is said before what is missing for want of it.
    const auto is_option = [](const std::string& word) { return word.starts_with("--"); };
    const auto option = std::find_if(rest.begin(), rest.end(), is_option);
    if (!rest.empty() && (option != rest.end() || dynamic_cast<const CLI::ExtrasError*>(&error)))
        return fail(
            fmt::format("not expected: {}{} (see kith {} --help)", fmt::join(rest, " "),
                        option == rest.end() ? one_dash_too_few(*command, given)
                                             : did_you_mean(option->substr(0, option->find('=')), options_of(*command)),
                        name),
            exit_usage);
    return fail(fmt::format("{} (see kith {} --help)", said_by_parser(*command, error), name), exit_usage);
}

// An empty text, as of a variable that is not set, is not the same as no option.
void require_values(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        const std::string type = option->get_type_name();
        const char* const expected = type == "FILE"   ? "the name of a file"
                                     : type == "DIR"  ? "the name of a folder"
                                     : type == "NAME" ? "a name"
                                     : type == "SIZE" ? "a size, such as 8GiB"
                                                      : nullptr;
        if (!expected) continue;
        for (const std::string& value : option->results()) {
            if (value.empty())
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("{} '': expected {}", option->get_name(), expected));
        }
    }
}

int run_tool(int argc, char** argv) {
    CLI::App app{"Exact k-nearest-neighbour search", "kith"};
    app.set_version_flag("--version", std::string("kith ") + KITH_VERSION, "Print the version");
    app.require_subcommand(1);
    app.footer(
        "kith COMMAND --help, or kith help COMMAND, says more. Exit codes: 0; 1 verify found something not exact;\n"
        "2 usage or bad input; 3 device or memory; 130 interrupted.");
    CommandRun run;
    const std::vector<std::string> given = words(argc, argv);
    for (const auto add : {add_search, add_graph, add_radius, add_select, add_distances, add_estimate, add_match,
                           add_recommend, add_retrieve, add_verify, add_groundtruth, add_convert, add_plan,
                           add_calibrate, add_info, add_demo, add_completion}) {
        add(app, run);
    }
    try {
        app.parse(std::vector<std::string>(given.rbegin(), given.rend()));  // in the order that parse() takes
    } catch (const CLI::Success& help_or_version) {
        const CLI::App& command = *chosen_in(app).command;
        if (!command.remaining().empty() && !commands_of(command).empty())
            return usage_error(app, help_or_version, given);
        std::ostringstream text;
        const int code = app.exit(help_or_version, text, text);
        std::fputs(text.str().c_str(), stdout);
        return finish(code);
    } catch (const CLI::ParseError& error) {
        return usage_error(app, error, given);
    }
    require_values(*chosen_in(app).command);
    return finish(run());
}

std::terminate_handler before_ours = std::abort;

// Where not even an exception can be allocated, which ends a program by std::terminate(), or its message cannot.
[[noreturn]] void terminated() {
    try {
        if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
    } catch (...) {
        before_ours();
    }
    remove_temporary_files();
    constexpr std::string_view line = "kith: out of memory\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
    _exit(exit_device);
}

// Before the initialisers of what this program is linked of, which allocate.
[[gnu::constructor(101)]] void end_by_terminated() {
    before_ours = std::set_terminate(terminated);
}

}  // namespace
}  // namespace kith::cli

int main(int argc, char** argv) {
    using namespace kith::cli;
    // Restores settings that a library loaded into this process may have changed.
    std::fesetenv(FE_DFL_ENV);
    claim_standard_files();
    catch_signals();
    try {
        return run_tool(argc, argv);
    } catch (const kith::Error& error) {
        const bool cancelled = error.code() == kith::ErrorCode::cancelled;
        return fail(cancelled ? "cancelled" : error.what(), exit_code(error.code()));
    } catch (const std::bad_alloc&) {
        return fail("out of memory", exit_device);
    } catch (const std::exception& error) {
        return fail(std::ferror(stdout) ? "cannot write to standard output" : error.what(), exit_usage);
    }
}
