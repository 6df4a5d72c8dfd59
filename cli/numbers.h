// Numbers as options take them: one reading of counts and of real values, one wording of what is wrong with them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kith::cli {

inline constexpr std::int64_t no_most = std::numeric_limits<std::int64_t>::max();

// A whole number within [least, most], as digits or with a decimal exponent: "1000000", "1e6", "1.5e3". `option` is
// named in the message. Throws invalid_argument.
std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most);
// A number, "inf" included, not NaN. Throws invalid_argument.
double parse_real(const std::string& option, const std::string& text);
// "8GiB", "500MB", "1.5G", "4096": KB, MB, ... are powers of 1000; K, KiB, M, MiB, ... powers of 1024. Throws
// invalid_argument.
std::int64_t parse_bytes(const std::string& text);

// Options that take such a number; a bad one is refused with the text as it was typed.
template <class Integer>
CLI::Option* add_count(CLI::App& command, const std::string& names, Integer& value, const std::string& what,
                       std::int64_t least, std::int64_t most = std::numeric_limits<Integer>::max());
CLI::Option* add_real(CLI::App& command, const std::string& names, double& value, const std::string& what);
// As above, for a number that need not be given.
CLI::Option* add_real(CLI::App& command, const std::string& names, std::optional<double>& value,
                      const std::string& what);
// One value of several counts within [least, no_most], separated by commas; given again, it adds to them.
CLI::Option* add_counts(CLI::App& command, const std::string& names, std::vector<std::int64_t>& values,
                        const std::string& what, std::int64_t least);

}  // namespace kith::cli
