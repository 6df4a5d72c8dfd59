// Parses and prints numbers by charconv.
#include "io/text_numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace kith::io {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Whether a decimal number beyond the range of a type is above it, not below: the power of ten of
// its first digit.
bool is_large(std::string_view text) {
    const std::size_t e = text.find_first_of("eE");
    std::int64_t power = 0;
    if (e != std::string_view::npos) {
        const char* first = text.data() + e + 1;
        const char* last = text.data() + text.size();
        if (first != last && *first == '+') ++first;
        if (std::from_chars(first, last, power).ec != std::errc{}) return *first != '-';
    }
    bool after_point = false, begun = false;
    std::int64_t place = 0;  // digits before the point, or less the zeros after it
    for (const char c : text.substr(0, e)) {
        if (c == '.') after_point = true;
        if (!is_digit(c)) continue;
        if (c != '0') begun = true;
        if (begun && !after_point) ++place;
        if (!begun && after_point) --place;
    }
    return power > -place;
}

template <class T>
Parsed parse(std::string_view text, T& value) {
    if (text.empty()) {
        value = std::numeric_limits<T>::quiet_NaN();
        return Parsed::number;
    }
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
        return Parsed::other;
    if (error == std::errc{}) return Parsed::number;
    if (is_large(text)) return Parsed::too_large;
    value = text[0] == '-' ? T{-0.0F} : T{0};
    return Parsed::number;
}

template <class T>
void append(std::string& text, T value) {
    char buffer[32];
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

}  // namespace

Parsed parse_number(std::string_view text, float& value) {
    return parse(text, value);
}

Parsed parse_number(std::string_view text, double& value) {
    return parse(text, value);
}

Parsed parse_number(std::string_view text, std::int64_t& value) {
    if (text.size() > 1 && text[0] == '+' && is_digit(text[1])) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
        return Parsed::other;
    return error == std::errc{} ? Parsed::number : Parsed::too_large;
}

bool stands_for_nothing(std::string_view text) {
    static constexpr std::array<std::string_view, 11> all{
        "NA", "N/A", "n/a", "<NA>", "#N/A", "NULL", "null", "None", "NaT", "NIL", "missing"};
    return std::find(all.begin(), all.end(), text) != all.end();
}

void append_number(std::string& text, float value) {
    if (std::isnan(value)) text += "nan";
    else append(text, value);
}

void append_number(std::string& text, double value) {
    if (std::isnan(value)) text += "nan";
    else append(text, value);
}

void append_number(std::string& text, std::int64_t value) {
    append(text, value);
}

}  // namespace kith::io
