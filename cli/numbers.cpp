// Numbers as options take them.
#include "numbers.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "kith/error.h"

namespace kith::cli {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& expected) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: '{}'; expected {}", option, text, expected));
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// DIGITS[.DIGITS][e[+-]DIGITS] as an integer; nothing where the text or its value is none, or where it passes 2^63.
std::optional<std::int64_t> whole_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    std::string digits;
    std::int64_t exponent = 0;
    std::size_t at = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) digits += text[at];
    if (at == 0) return {};
    if (at < text.size() && text[at] == '.') {
        for (++at; at < text.size() && is_digit(text[at]); ++at, --exponent) digits += text[at];
        if (exponent == 0) return {};
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        const char* first = text.data() + at + 1;
        const char* const last = text.data() + text.size();
        if (first != last && *first == '+' && first + 1 != last && is_digit(first[1])) ++first;
        int power = 0;
        const auto [end, error] = std::from_chars(first, last, power);
        if (error != std::errc() || end != last) return {};
        exponent += power;
        at = text.size();
    }
    if (at != text.size()) return {};
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.empty()) return 0;
    for (; exponent < 0; ++exponent) {
        if (digits.back() != '0') return {};
        digits.pop_back();
    }
    constexpr std::size_t most_digits = std::numeric_limits<std::int64_t>::digits10 + 1;
    if (exponent > static_cast<std::int64_t>(most_digits)) return {};
    digits.append(static_cast<std::size_t>(exponent), '0');
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return {};
    return negative ? -value : value;
}

// The name to speak of: the long one, where there is one.
std::string spoken(const std::string& names) {
    const std::size_t comma = names.rfind(',');
    return comma == std::string::npos ? names : names.substr(comma + 1);
}

}  // namespace

std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most) {
    const std::optional<std::int64_t> value = whole_number(text);
    if (value && *value >= least && *value <= most) return *value;
    refuse(option, text,
           most == no_most ? fmt::format("a whole number of at least {} and below 2^63, such as 1000 or 1e6", least)
                           : fmt::format("a whole number from {} to {}", least, most));
}

double parse_real(const std::string& option, const std::string& text) {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || std::isnan(value))
        refuse(option, text, "a number such as 2, 0.5, 1e-3 or inf");
    return value;
}

std::int64_t parse_bytes(const std::string& text) {
    const auto expected = [&](const char* why) {
        refuse("--memory", text, fmt::format("a size such as 8GiB, 500MB, 1.5G or 4096 ({})", why));
    };
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) expected("this is none");
    std::string unit;
    for (const char* c = end; c != text.data() + text.size(); ++c) {
        if (*c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    }
    double scale = 1;
    if (!unit.empty() && unit != "b") {
        const std::size_t power = std::string_view("kmgt").find(unit[0]);
        const std::string rest = unit.substr(1);
        if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib" || rest == "i"))
            expected("the unit is unknown");
        scale = std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power) + 1);
    }
    const double bytes = number * scale;
    if (!(bytes >= 1)) expected("this is less than one byte");
    if (bytes > 0x1p62) expected("this is too large");
    return static_cast<std::int64_t>(bytes);
}

template <class Integer>
CLI::Option* add_count(CLI::App& command, const std::string& names, Integer& value, const std::string& what,
                       std::int64_t least, std::int64_t most) {
    const auto read = [&value, option = spoken(names), least, most](const std::string& text) {
        value = static_cast<Integer>(parse_count(option, text, least, most));
    };
    return command.add_option_function<std::string>(names, read, what);
}
template CLI::Option* add_count(CLI::App&, const std::string&, int&, const std::string&, std::int64_t, std::int64_t);
template CLI::Option* add_count(CLI::App&, const std::string&, std::int64_t&, const std::string&, std::int64_t,
                                std::int64_t);

namespace {

template <class Real>
CLI::Option* add_real_to(CLI::App& command, const std::string& names, Real& value, const std::string& what) {
    return command.add_option_function<std::string>(
        names, [&value, option = spoken(names)](const std::string& text) { value = parse_real(option, text); }, what);
}

}  // namespace

CLI::Option* add_real(CLI::App& command, const std::string& names, double& value, const std::string& what) {
    return add_real_to(command, names, value, what);
}
CLI::Option* add_real(CLI::App& command, const std::string& names, std::optional<double>& value,
                      const std::string& what) {
    return add_real_to(command, names, value, what);
}

CLI::Option* add_counts(CLI::App& command, const std::string& names, std::vector<std::int64_t>& values,
                        const std::string& what, std::int64_t least) {
    const auto read = [&values, option = spoken(names), least](const std::vector<std::string>& texts) {
        values.clear();
        for (const std::string& text : texts)
            for (std::size_t from = 0, end = 0; end != std::string::npos; from = end + 1) {
                end = text.find(',', from);
                values.push_back(parse_count(option, text.substr(from, end - from), least, no_most));
            }
    };
    return command.add_option_function<std::vector<std::string>>(names, read, what)->allow_extra_args(false);
}

}  // namespace kith::cli
