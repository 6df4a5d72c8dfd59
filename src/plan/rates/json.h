// A small JSON reader for the files of machines. It limits levels and bytes; errors name line and
// column.
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
    std::vector<JsonValue> items;   // elements of an array, or values of an object
    std::vector<std::string> keys;  // keys of an object, one per item; unique
    int line = 0, column = 0;       // position of its first character, from 1

    // The member with that key, or null. Owned by this value.
    const JsonValue* find(std::string_view key) const;
};

// Throws bad_file with "ORIGIN:LINE:COLUMN: " and what is wrong.
JsonValue parse_json(std::string_view text, const std::string& origin);

}  // namespace kith::planner
