// Parses and makes npy headers.
#include "io/npy_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "io/errors.h"

namespace kith::io {
namespace {

struct NpyType {
    std::string_view code;  // of a dtype, after the byte order
    ElementType type;
    NpyForeign foreign = NpyForeign::none;
};
// Where two are read as one type, the first is written.
constexpr std::array<NpyType, 12> npy_types{{{"f2", ElementType::f16},
                                             {"f4", ElementType::f32},
                                             {"f8", ElementType::f64},
                                             {"i1", ElementType::i8},
                                             {"u1", ElementType::u8},
                                             {"i4", ElementType::i32},
                                             {"i8", ElementType::i64},
                                             {"b1", ElementType::u8, NpyForeign::boolean},
                                             {"i2", ElementType::f32, NpyForeign::i16},
                                             {"u2", ElementType::f32, NpyForeign::u16},
                                             {"u4", ElementType::i64, NpyForeign::u32},
                                             {"u8", ElementType::i64, NpyForeign::u64}}};

constexpr std::string_view magic = "\x93NUMPY";

// What a header of version 1 can be at most; NumPy itself reads 10,000 bytes unless told to trust
// the file.
constexpr std::int64_t longest_header = 0xffff;

// NumPy aligns the data to this.
constexpr std::size_t alignment = 64;

// Walks over the dictionary's text; every refusal names the place in the file.
class Cursor {
public:
    Cursor(const std::string& path, std::string_view text, std::int64_t offset)
        : path_(path), text_(text), offset_(offset) {}

    [[noreturn]] void refuse(std::string_view expected) const {
        const std::size_t at = std::min(text_.find_first_not_of(blanks, at_), text_.size());
        const std::string_view rest = text_.substr(at, 16);
        std::string shown;
        for (const char c : rest) shown += c >= ' ' && c <= '~' ? c : '?';
        bad_bytes(path_, offset_ + static_cast<std::int64_t>(at), expected,
                  rest.empty() ? "the end of the header" : fmt::format("\"{}\"", shown));
    }

    // Skips white space, then takes `token` if it comes next.
    bool take(std::string_view token) {
        at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size());
        if (!text_.substr(at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }

    void need(std::string_view token) {
        if (!take(token)) refuse(fmt::format("\"{}\"", token));
    }

    std::string_view quoted(std::string_view what) {
        char quote = 0;
        if (take("'")) quote = '\'';
        else if (take("\"")) quote = '"';
        else refuse(what);
        const std::size_t end = text_.find(quote, at_);
        if (end == std::string_view::npos) refuse("a closing quote");
        const std::string_view result = text_.substr(at_, end - at_);
        at_ = end + 1;
        return result;
    }

    std::int64_t number() {
        take("");
        std::int64_t value = 0;
        const std::size_t start = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, text_[at_] - '0', &value)) {
                refuse("a dimension below 2^63");
            }
        }
        if (at_ == start) refuse("a dimension");
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 10L
        return value;
    }

    bool at_end() {
        take("");
        return at_ == text_.size();
    }

private:
    static constexpr std::string_view blanks = " \n";

    const std::string& path_;
    std::string_view text_;
    std::int64_t offset_;
    std::size_t at_ = 0;
};

void parse_descr(Cursor& cursor, NpyHeader& header) {
    constexpr std::string_view expected = "a dtype of f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 u8 b1";
    const Cursor start = cursor;
    std::string_view descr = cursor.quoted(expected);
    if (!descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos) {
        header.swapped = descr[0] == '>';
        descr.remove_prefix(1);
    }
    const auto* known = std::find_if(npy_types.begin(), npy_types.end(),
                                     [&](NpyType t) { return t.code == descr; });
    if (known == npy_types.end()) start.refuse(expected);
    header.type = known->type;
    header.foreign = known->foreign;
    header.stored = known->code;
}

void parse_shape(Cursor& cursor, NpyHeader& header) {
    cursor.need("(");
    while (!cursor.take(")")) {
        header.shape.push_back(cursor.number());
        if (cursor.take(",")) continue;
        cursor.need(")");
        break;
    }
    if (header.shape.empty()) cursor.refuse("at least one dimension before");
}

// The dictionary has exactly these three keys, in any order.
void parse_dictionary(Cursor& cursor, NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    cursor.need("{");
    while (!cursor.take("}")) {
        const Cursor start = cursor;
        const std::string_view key = cursor.quoted("a key");
        cursor.need(":");
        if (key == "descr" && !descr) {
            descr = true;
            parse_descr(cursor, header);
        } else if (key == "fortran_order" && !order) {
            order = true;
            header.fortran_order = cursor.take("True");
            if (!header.fortran_order) cursor.need("False");
        } else if (key == "shape" && !shape) {
            shape = true;
            parse_shape(cursor, header);
        } else {
            start.refuse("each of descr, fortran_order and shape once");
        }
        if (cursor.take(",")) continue;
        cursor.need("}");
        break;
    }
    if (!descr || !order || !shape) cursor.refuse("descr, fortran_order and shape before");
    if (!cursor.at_end()) cursor.refuse("only blanks after the dictionary");
}

}  // namespace

NpyHeader read_npy_header(ByteInput& input) {
    std::array<char, 8> start{};
    input.read_at(0, start.data(), start.size());
    if (std::string_view(start.data(), magic.size()) != magic) {
        bad_bytes(input.path(), 0, "the magic 93 'NUMPY'", "other bytes");
    }
    const int version = static_cast<unsigned char>(start[6]);
    if (version < 1 || version > 3)
        bad_bytes(input.path(), 6, "version 1, 2 or 3", fmt::format("{}", version));

    const std::int64_t text_offset = version == 1 ? 10 : 12;
    const std::int64_t length =
        version == 1 ? input.value_at<std::uint16_t>(8) : input.value_at<std::uint32_t>(8);
    const std::int64_t there =
        input.size_within(text_offset + std::min(length, longest_header)) - text_offset;
    if (const std::int64_t most = std::min(there, longest_header); length > most) {
        bad_bytes(input.path(), 8, fmt::format("a header of at most {} bytes", most),
                  fmt::format("{}", length));
    }
    std::string text(static_cast<std::size_t>(length), '\0');
    input.read_at(text_offset, text.data(), length);

    NpyHeader header;
    header.data_offset = text_offset + length;
    Cursor cursor(input.path(), text, text_offset);
    parse_dictionary(cursor, header);
    return header;
}

std::string npy_header(std::int64_t rows, std::int64_t cols, ElementType type) {
    const auto* known =
        std::find_if(npy_types.begin(), npy_types.end(), [&](NpyType t) { return t.type == type; });
    if (known == npy_types.end()) return "";
    std::string text =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                    size_of(type) == 1 ? '|' : '<', known->code, rows, cols);
    const std::size_t before = magic.size() + 4;
    text.append(alignment - (before + text.size() + 1) % alignment, ' ');
    text += '\n';

    std::string header(magic);
    const auto length = static_cast<std::uint16_t>(text.size());
    header += '\1';
    header += '\0';
    header.append(reinterpret_cast<const char*>(&length), sizeof length);
    return header + text;
}

}  // namespace kith::io
