// Untrusted JSON: parsed within limits, and its members checked for type and range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/files/json.h"

namespace kith::groundtruth {

// Throws bad_file, beginning with `what`, if the text is not one JSON value, or if an object has a
// member twice. Values nested deeper than any of ours, or more than `most_values`, also throw.
Json parse_json(std::string_view text, const std::string& what, std::int64_t most_values);

// The members of an object. All throw bad_file, naming the member, its value and what was expected.
class Fields {
public:
    // `what`: name of the object in messages.
    Fields(const Json& object, std::string what);

    bool has(const char* key) const { return object_.contains(key); }
    bool flag(const char* key) const;
    std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const;
    double real(const char* key, double least, double most) const;
    std::string text(const char* key) const;     // without NUL
    double real_in_text(const char* key) const;  // because JSON has no infinity
    Fields object(const char* key) const;
    const Json& array(const char* key) const;
    // Throws "expected ..., found ..." for that member.
    [[noreturn]] void refuse(const char* key, const std::string& expected) const;

private:
    const Json& member(const char* key) const;

    const Json& object_;
    std::string what_;
};

}  // namespace kith::groundtruth
