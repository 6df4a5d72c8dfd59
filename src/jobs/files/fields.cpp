// Parses JSON within limits and checks its members.
#include "jobs/files/fields.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kith/error.h"

namespace kith::groundtruth {
namespace {

constexpr std::size_t deepest = 8;
constexpr std::size_t most_members = 64;   // of an object: lookup of a member is linear
constexpr std::size_t longest_shown = 60;  // bytes of a value in a message

[[noreturn]] void damaged(const std::string& what, const std::string& why) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", what, why));
}

// Checks the limits on the parser's events. Json::parse() accepts such a filter too, but rescans
// all elements of an array after each object in it.
class Bounds final : public nlohmann::json_sax<Json> {
public:
    Bounds(const std::string& what, std::int64_t most_values) : what_(what), left_(most_values) {}

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_array() override { return leave(); }
    bool start_object(std::size_t) override { return enter(); }
    bool end_object() override { return leave(); }

    bool key(string_t& name) override {
        if (keys_.back().size() == most_members)
            damaged(what_, fmt::format("expected objects of at most {} members", most_members));
        if (!keys_.back().insert(name).second)
            damaged(what_, fmt::format("expected {} once", Json(name).dump()));
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
        return false;
    }

private:
    bool value() {
        if (--left_ < 0) damaged(what_, "expected fewer values");
        return true;
    }
    bool enter() {
        if (keys_.size() == deepest)
            damaged(what_, fmt::format("expected at most {} levels", deepest));
        keys_.emplace_back();
        return value();
    }
    bool leave() {
        keys_.pop_back();
        return true;
    }

    const std::string& what_;
    std::int64_t left_;
    std::vector<std::unordered_set<std::string>> keys_;  // of the enclosing objects and arrays
};

}  // namespace

Json parse_json(std::string_view text, const std::string& what, std::int64_t most_values) {
    Bounds bounds(what, most_values);
    if (!Json::sax_parse(text.begin(), text.end(), &bounds)) damaged(what, "expected JSON");
    return Json::parse(text.begin(), text.end());
}

Fields::Fields(const Json& object, std::string what) : object_(object), what_(std::move(what)) {
    if (!object_.is_object()) damaged(what_, "expected an object");
}

const Json& Fields::member(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) damaged(what_, fmt::format("expected '{}', found none", key));
    return *found;
}

void Fields::refuse(const char* key, const std::string& expected) const {
    std::string found = member(key).dump(-1, ' ', true, Json::error_handler_t::replace);
    if (found.size() > longest_shown) found = found.substr(0, longest_shown) + "...";
    damaged(what_, fmt::format("{}: expected {}, found {}", key, expected, found));
}

bool Fields::flag(const char* key) const {
    const Json& value = member(key);
    if (!value.is_boolean()) refuse(key, "true or false");
    return value.get<bool>();
}

std::int64_t Fields::integer(const char* key, std::int64_t least, std::int64_t most) const {
    const Json& value = member(key);
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
    const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
    if (fits && number >= least && number <= most) return number;
    refuse(key, least == most ? fmt::format("{}", least)
                              : fmt::format("a whole number from {} to {}", least, most));
}

double Fields::real(const char* key, double least, double most) const {
    const Json& value = member(key);
    const double number = value.is_number() ? value.get<double>() : 0;
    if (value.is_number() && number >= least && number <= most) return number;
    refuse(key, fmt::format("a number from {} to {}", least, most));
}

std::string Fields::text(const char* key) const {
    const Json& value = member(key);
    if (!value.is_string()) refuse(key, "a text");
    std::string text = value.get<std::string>();
    if (text.find('\0') != std::string::npos) refuse(key, "a text without NUL");
    return text;
}

double Fields::real_in_text(const char* key) const {
    const std::string digits = text(key);
    double value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [behind, failed] = std::from_chars(digits.data(), end, value);
    if (failed != std::errc() || behind != end) refuse(key, "a number in a text");
    return value;
}

Fields Fields::object(const char* key) const {
    return {member(key), fmt::format("{}: {}", what_, key)};
}

const Json& Fields::array(const char* key) const {
    const Json& value = member(key);
    if (!value.is_array()) refuse(key, "an array");
    return value;
}

}  // namespace kith::groundtruth
