// The tool's messages: the one way to standard error, which may be full, closed or a terminal that has gone.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace kith::cli {

// Takes the numbers 0 to 2 where they are closed, so that no file of data gets one of them; using them still fails.
void claim_standard_files();

// Writes what it can and never fails: no message is worth the work that it is about.
void say_text(std::string_view text) noexcept;

template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) noexcept {
    try {
        say_text(fmt::format(format, std::forward<Values>(values)...));
    } catch (...) {
        say_text("kith: out of memory\n");
    }
}

// The text in one line, with control characters (of a file's name, of what others wrote) as "\x1b": a terminal would
// obey them.
std::string printable(std::string_view text);

// True if all that was printed on standard output until now has arrived.
bool printed();

}  // namespace kith::cli
