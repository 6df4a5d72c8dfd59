// Numbers as text: correctly rounded, independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kith::io {

enum class Parsed : std::uint8_t { number, other, too_large };

// The value of all of `text`, rounded to nearest, ties to even. "" and "nan" are NaN, "inf" is
// infinite; underflow gives 0. Integers accept digits only.
Parsed parse_number(std::string_view text, float& value);
Parsed parse_number(std::string_view text, double& value);
Parsed parse_number(std::string_view text, std::int64_t& value);

// Likewise; with `decimal_comma` decimals follow a comma, and a number with a point is rejected.
template <class T>
Parsed parse_number(std::string_view text, bool decimal_comma, T& value) {
    if (!decimal_comma) return parse_number(text, value);
    if (text.find('.') != std::string_view::npos) return Parsed::other;
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return parse_number(text, value);
    std::string with_point(text);
    with_point[comma] = '.';
    return parse_number(with_point, value);
}

// True if programs write this text for a missing number: it is neither a name nor a number.
bool stands_for_nothing(std::string_view text);

// Appends the shortest text that parses to the same value.
void append_number(std::string& text, float value);
void append_number(std::string& text, double value);
void append_number(std::string& text, std::int64_t value);

}  // namespace kith::io
