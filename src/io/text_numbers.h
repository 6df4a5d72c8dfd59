// Numbers as text: exactly rounded once, in no locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kith::io {

enum class Parsed : std::uint8_t { number, other, too_large };

// The value of all of `text`, to the nearest T, ties to even. "" and "nan" are NaN, "inf" is
// infinite; what is too small becomes 0. Integers take digits only.
Parsed parse_number(std::string_view text, float& value);
Parsed parse_number(std::string_view text, double& value);
Parsed parse_number(std::string_view text, std::int64_t& value);

// The same of numbers whose decimals follow a comma, where `decimal_comma`; a point is then none of
// them.
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

// Whether programs write it in the place of a number that is missing: it is no name of anything,
// nor read as a number.
bool stands_for_nothing(std::string_view text);

// Appends the shortest text that reads as the same value.
void append_number(std::string& text, float value);
void append_number(std::string& text, double value);
void append_number(std::string& text, std::int64_t value);

}  // namespace kith::io
