// See json.h. Recursive descent over RFC 8259, with limits on the levels and bytes of a text.
#include "plan/rates/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

#include "kith/error.h"

namespace kith::planner {

namespace {

constexpr int most_levels = 16;
constexpr std::size_t most_bytes = std::size_t{1} << 20;

class Reader {
public:
    Reader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

    JsonValue whole() {
        if (text_.size() > most_bytes) fail(fmt::format("more than {} bytes", most_bytes));
        JsonValue value = read(0);
        skip_space();
        if (at_ < text_.size()) fail("more than one value");
        return value;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        const auto [line, column] = place();
        throw Error(ErrorCode::bad_file, fmt::format("{}:{}:{}: {}", origin_, line, column, what));
    }

    std::pair<int, int> place() const {
        const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
        const auto lines = std::count(before.begin(), before.end(), '\n');
        const std::size_t last = before.rfind('\n');
        const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1);
        return {static_cast<int>(lines) + 1, static_cast<int>(column) + 1};
    }

    void skip_space() {
        while (at_ < text_.size() &&
               std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }

    char peek() {
        skip_space();
        if (at_ >= text_.size()) fail("ends too early");
        return text_[at_];
    }

    void expect(char wanted) {
        if (peek() != wanted) fail(fmt::format("expected '{}'", wanted));
        ++at_;
    }

    JsonValue read(int level) {
        if (level > most_levels) fail(fmt::format("more than {} levels", most_levels));
        const char first = peek();
        JsonValue value;
        std::tie(value.line, value.column) = place();
        if (first == '{') read_object(value, level);
        else if (first == '[') read_array(value, level);
        else if (first == '"') read_text(value);
        else if (first == '-' || (first >= '0' && first <= '9')) read_number(value);
        else read_word(value);
        return value;
    }

    void read_object(JsonValue& value, int level) {
        value.kind = JsonValue::Kind::object;
        expect('{');
        if (peek() == '}') {
            ++at_;
            return;
        }
        while (true) {
            JsonValue key;
            if (peek() != '"') fail("expected a key in quotes");
            read_text(key);
            if (value.find(key.text)) fail(fmt::format("key '{}' twice", key.text));
            expect(':');
            value.keys.push_back(std::move(key.text));
            value.items.push_back(read(level + 1));
            if (peek() == '}') break;
            expect(',');
        }
        ++at_;
    }

    void read_array(JsonValue& value, int level) {
        value.kind = JsonValue::Kind::array;
        expect('[');
        if (peek() == ']') {
            ++at_;
            return;
        }
        while (true) {
            value.items.push_back(read(level + 1));
            if (peek() == ']') break;
            expect(',');
        }
        ++at_;
    }

    unsigned hexadecimal() {
        unsigned code = 0;
        constexpr std::size_t digits = 4;
        const char* const first = text_.data() + at_;
        if (text_.size() - at_ < digits) fail("ends too early");
        const auto [end, error] = std::from_chars(first, first + digits, code, 16);
        if (error != std::errc() || end != first + digits) fail("expected four hexadecimal digits");
        at_ += digits;
        return code;
    }

    void append_utf8(std::string& out, unsigned code) {
        const auto byte = [&out](unsigned bits) { out += static_cast<char>(bits); };
        if (code < 0x80) return byte(code);
        if (code < 0x800) {
            byte(0xc0 | code >> 6);
        } else if (code < 0x10000) {
            byte(0xe0 | code >> 12);
            byte(0x80 | (code >> 6 & 0x3f));
        } else {
            byte(0xf0 | code >> 18);
            byte(0x80 | (code >> 12 & 0x3f));
            byte(0x80 | (code >> 6 & 0x3f));
        }
        byte(0x80 | (code & 0x3f));
    }

    void read_escape(std::string& out) {
        constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        const char letter = at_ < text_.size() ? text_[at_++] : '\0';
        if (const std::size_t which = letters.find(letter); which != std::string_view::npos) {
            out += meanings[which];
            return;
        }
        if (letter != 'u') fail("unknown escape");
        unsigned code = hexadecimal();
        if (code >= 0xd800 && code < 0xdc00) {
            if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
            at_ += 2;
            const unsigned low = hexadecimal();
            if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code <= 0xdfff) {
            fail("half of a surrogate pair");
        }
        append_utf8(out, code);
    }

    void read_text(JsonValue& value) {
        value.kind = JsonValue::Kind::text;
        expect('"');
        while (true) {
            if (at_ >= text_.size()) fail("a text without its end");
            const char c = text_[at_];
            if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a text");
            ++at_;
            if (c == '"') return;
            if (c == '\\') read_escape(value.text);
            else value.text += c;
        }
    }

    void read_number(JsonValue& value) {
        value.kind = JsonValue::Kind::number;
        const char* const first = text_.data() + at_;
        const char* const last = text_.data() + text_.size();
        const auto [end, error] = std::from_chars(first, last, value.number);
        if (error != std::errc() || !std::isfinite(value.number))
            fail("not a number that 64 bits hold");
        at_ += static_cast<std::size_t>(end - first);
    }

    void read_word(JsonValue& value) {
        const std::string_view rest = text_.substr(at_);
        const auto take = [&](std::string_view word) {
            if (!rest.starts_with(word)) return false;
            at_ += word.size();
            return true;
        };
        if (take("true")) value.boolean = true;
        else if (!take("false") && !take("null")) fail("expected a value");
        value.kind = rest.starts_with("null") ? JsonValue::Kind::null : JsonValue::Kind::boolean;
    }

    std::string_view text_;
    const std::string& origin_;
    std::size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
    const auto found = std::ranges::find(keys, key);
    return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

JsonValue parse_json(std::string_view text, const std::string& origin) {
    return Reader(text, origin).whole();
}

}  // namespace kith::planner
