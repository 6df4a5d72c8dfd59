// kith completion: a shell's completion script, made by walking the commands and options of the app itself.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "kith/error.h"
#include "options.h"

namespace kith::cli {
namespace {

struct OptionFacts {
    std::vector<std::string> names;  // "-k", "--base"
    std::string what;
    bool takes_value;
    bool file;
    std::vector<std::string> values;
};

struct CommandFacts {
    std::string name;
    std::string what;
    std::vector<OptionFacts> options;
    std::vector<std::string> words;  // of a positional argument, or commands
    bool positional_files = false;
};

OptionFacts facts_of(const CLI::Option& option) {
    OptionFacts facts;
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
    facts.what = option.get_description();
    facts.takes_value = option.get_expected_max() > 0 && option.get_type_size_max() > 0;
    facts.file = option.get_type_name() == "FILE" || option.get_type_name() == "DIR";
    const auto& long_names = option.get_lnames();
    if (!long_names.empty()) facts.values = choices(long_names[0]);
    return facts;
}

CommandFacts facts_of(const CLI::App& command) {
    CommandFacts facts{command.get_name(), command.get_description(), {}, {}};
    for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
        if (option->get_positional()) {
            facts.words = choices(option->get_name());
            facts.positional_files = option->get_type_name() == "FILE";
        } else {
            facts.options.push_back(facts_of(*option));
        }
    }
    return facts;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

// Adds to the facts of a command those of the commands that it has: their names, each option once.
void add_commands(const CLI::App& command, CommandFacts& facts) {
    for (const CLI::App* below : commands_of(command)) {
        facts.words.push_back(below->get_name());
        facts.positional_files = true;
        for (OptionFacts& option : facts_of(*below).options) {
            const auto same = [&](const OptionFacts& known) { return known.names == option.names; };
            if (std::none_of(facts.options.begin(), facts.options.end(), same))
                facts.options.push_back(std::move(option));
        }
    }
}

std::vector<CommandFacts> walk(const CLI::App& app) {
    std::vector<CommandFacts> commands;
    for (const CLI::App* command : commands_of(app)) {
        commands.push_back(facts_of(*command));
        add_commands(*command, commands.back());
    }
    return commands;
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
    return fmt::format("{}", fmt::join(words, between));
}

// Inside single quotes of any of the three shells.
std::string quoted(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '\'') result += "'\\''";
        else result += c;
    }
    return "'" + result + "'";
}

std::vector<std::string> names_of(const CommandFacts& command) {
    std::vector<std::string> names;
    for (const OptionFacts& option : command.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

// The words that complete an argument that is no option: words, files, or either.
std::string reply_of(const CommandFacts& command) {
    const std::string words = "compgen -W " + quoted(joined(command.words)) + " -- \"$cur\"";
    const std::string files = "compgen -f -- \"$cur\"";
    if (command.words.empty()) return command.positional_files ? files : ":";
    return command.positional_files ? words + "; " + files : words;
}

std::string bash(const CommandFacts& root, const std::vector<CommandFacts>& commands) {
    std::vector<std::string> names = names_of(root);
    std::string cases;
    for (const CommandFacts& command : commands) {
        names.push_back(command.name);
        std::string values;
        for (const OptionFacts& option : command.options) {
            if (!option.takes_value) continue;
            const std::string reply = option.file ? "compgen -f -- \"$cur\""
                                      : option.values.empty()
                                          ? ":"
                                          : "compgen -W " + quoted(joined(option.values)) + " -- \"$cur\"";
            values +=
                fmt::format("                {}) COMPREPLY=($({})); return ;;\n", joined(option.names, "|"), reply);
        }
        cases += fmt::format(
            "        {0})\n            case \"$prev\" in\n{1}            esac\n            if [[ $cur == -* ]]; then\n"
            "                COMPREPLY=($(compgen -W {2} -- \"$cur\"))\n            else\n"
            "                COMPREPLY=($({3}))\n            fi ;;\n",
            command.name, values, quoted(joined(names_of(command))), reply_of(command));
    }
    return fmt::format(
        "# bash completion of kith; for this shell: source <(kith completion bash)\n"
        "_kith() {{\n    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n    COMPREPLY=()\n"
        "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W {} -- \"$cur\"))\n        return\n    fi\n"
        "    case \"${{COMP_WORDS[1]}}\" in\n{}    esac\n}}\ncomplete -o filenames -F _kith kith\n",
        quoted(joined(names)), cases);
}

std::string zsh(const CommandFacts& root, const std::vector<CommandFacts>& commands) {
    // In an _arguments spec, colons and brackets of a description would end it.
    const auto description = [](const std::string& text) {
        std::string result;
        for (const char c : text) {
            if (c == ':' || c == '[' || c == ']') result += '\\';
            result += c;
        }
        return result;
    };
    const auto specs = [&](const CommandFacts& command) {
        std::string text;
        for (const OptionFacts& option : command.options) {
            const std::string action = option.file             ? ":file:_files"
                                       : option.values.empty() ? option.takes_value ? ":value:" : ""
                                                               : ":value:(" + joined(option.values) + ")";
            for (const std::string& name : option.names) {
                text += " \\\n                " + quoted(name + "[" + description(option.what) + "]" + action);
            }
        }
        if (!command.words.empty()) text += " \\\n                " + quoted("1:word:(" + joined(command.words) + ")");
        if (command.positional_files) text += " \\\n                '*:file:_files'";
        return text;
    };
    std::string names;
    std::string cases;
    for (const CommandFacts& command : commands) {
        names += "        " + quoted(command.name + ":" + description(command.what)) + "\n";
        cases += fmt::format("        {})\n            _arguments{} ;;\n", command.name, specs(command));
    }
    return fmt::format(
        "#compdef kith\n# zsh completion of kith; for this shell: source <(kith completion zsh)\n_kith() {{\n"
        "    local -a commands=(\n{}    )\n    if ((CURRENT == 2)); then\n"
        "        _describe command commands\n        _arguments{}\n        return\n    fi\n"
        "    shift words\n    ((CURRENT--))\n    case $words[1] in\n{}    esac\n}}\nif [[ $funcstack[1] == _kith ]]; "
        "then _kith \"$@\"; else compdef _kith kith; fi\n",
        names, specs(root), cases);
}

std::string fish(const CommandFacts& root, const std::vector<CommandFacts>& commands) {
    const auto lines = [](const CommandFacts& command, const std::string& condition) {
        std::string text;
        for (const OptionFacts& option : command.options) {
            text += fmt::format("complete -c kith -n {}", quoted(condition));
            for (const std::string& name : option.names) {
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            if (option.file) text += " -r -F";
            else if (!option.values.empty()) text += " -x -a " + quoted(joined(option.values));
            else if (option.takes_value) text += " -x";
            text += " -d " + quoted(option.what) + "\n";
        }
        if (!command.words.empty()) {
            text += fmt::format("complete -c kith -n {} -a {}\n", quoted(condition), quoted(joined(command.words)));
        }
        if (command.positional_files) text += fmt::format("complete -c kith -n {} -F\n", quoted(condition));
        return text;
    };
    std::string text =
        "# fish completion of kith; for this shell: kith completion fish | source\ncomplete -c kith -f\n";
    text += lines(root, "__fish_use_subcommand");
    for (const CommandFacts& command : commands) {
        text +=
            fmt::format("complete -c kith -n __fish_use_subcommand -a {} -d {}\n", command.name, quoted(command.what));
        text += lines(command, "__fish_seen_subcommand_from " + command.name);
    }
    return text;
}

int execute(const CLI::App& app, const std::string& shell) {
    const CommandFacts root = facts_of(app);
    const std::vector<CommandFacts> commands = walk(app);
    if (shell == "bash") fmt::print("{}", bash(root, commands));
    else if (shell == "zsh") fmt::print("{}", zsh(root, commands));
    else if (shell == "fish") fmt::print("{}", fish(root, commands));
    else throw Error(ErrorCode::invalid_argument, fmt::format("unknown shell '{}'; expected bash, zsh or fish", shell));
    return exit_ok;
}

}  // namespace

void add_completion(CLI::App& app, CommandRun& run) {
    const auto shell = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("completion", "A completion script for your shell");
    command->footer(
        "For this shell: source <(kith completion bash). For good: kith completion bash >\n"
        "~/.local/share/bash-completion/completions/kith");
    command->add_option("shell", *shell, "bash, zsh or fish")->type_name("SHELL")->required();
    command->callback([shell, &app, &run] { run = [shell, &app] { return execute(app, *shell); }; });
}

}  // namespace kith::cli
