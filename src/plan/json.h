// A small reader of JSON, for the files of machines: bounded, errors with line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith::planner {

struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, number, text, array, object };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string text;
    std::vector<JsonValue> items;   // of an array, or the values of an object
    std::vector<std::string> keys;  // of an object, in the order of its items, each once
    int line = 0, column = 0;       // where it begins, from 1

    // The member of that key, or null.
    const JsonValue* find(std::string_view key) const;
};

// Throws bad_file: "ORIGIN:LINE:COLUMN: what is wrong".
JsonValue parse_json(std::string_view text, const std::string& origin);

}  // namespace kith::planner
