// IDX (MNIST): 00 00, type, number of dimensions, each dimension as big-endian u32, big-endian
// elements.
#include <algorithm>
#include <array>

#include "io/errors.h"
#include "io/flat.h"

namespace kith::io {
namespace {

struct IdxType {
    std::uint8_t code;
    ElementType type;
};
constexpr std::array<IdxType, 5> idx_types{{{0x08, ElementType::u8},
                                            {0x09, ElementType::i8},
                                            {0x0c, ElementType::i32},
                                            {0x0d, ElementType::f32},
                                            {0x0e, ElementType::f64}}};

std::int64_t big_endian_u32(ByteInput& input, std::int64_t offset) {
    return __builtin_bswap32(input.value_at<std::uint32_t>(offset));
}

void append_big_endian(std::string& text, std::int64_t value) {
    const std::uint32_t swapped = __builtin_bswap32(static_cast<std::uint32_t>(value));
    text.append(reinterpret_cast<const char*>(&swapped), sizeof swapped);
}

}  // namespace

SourcePtr open_idx(const Location& location) {
    std::unique_ptr<ByteInput> input = open_input(location);
    const auto magic = input->value_at<std::array<std::uint8_t, 4>>(0);
    if (magic[0] != 0 || magic[1] != 0) {
        bad_bytes(input->path(), 0, "00 00 (IDX)",
                  fmt::format("{:02x} {:02x}", magic[0], magic[1]));
    }
    const auto* known = std::find_if(idx_types.begin(), idx_types.end(),
                                     [&](IdxType t) { return t.code == magic[2]; });
    if (known == idx_types.end()) {
        bad_bytes(input->path(), 2, "a type of 08 (u8), 09 (i8), 0c (i32), 0d (f32) or 0e (f64)",
                  fmt::format("{:02x}", magic[2]));
    }
    if (magic[3] < 1) bad_bytes(input->path(), 3, "at least one dimension", "0");

    FileInfo info{"idx", big_endian_u32(*input, 4), 1, known->type};
    std::int64_t offset = 8;
    for (int i = 1; i < magic[3]; ++i, offset += 4) {
        const std::int64_t dimension = big_endian_u32(*input, offset);
        if (__builtin_mul_overflow(info.cols, dimension, &info.cols)) {
            bad_bytes(input->path(), offset, "dimensions whose product fits in 64 bits",
                      fmt::format("{}", dimension));
        }
    }
    require_exact_size(*input, info, offset);
    return std::make_unique<FlatSource>(std::move(input), info, offset, size_of(info.type) > 1);
}

// One column is written as one dimension: labels stay labels.
SinkPtr create_idx(const Target& target, const FileInfo& info) {
    require_type(target, info, "u8 i8 i32 f32 f64");
    (void)u32_header(target, info);  // the same limits
    const auto* known = std::find_if(idx_types.begin(), idx_types.end(),
                                     [&](IdxType t) { return t.type == info.type; });
    const int dimensions = info.cols == 1 ? 1 : 2;
    std::string header{'\0', '\0', static_cast<char>(known->code), static_cast<char>(dimensions)};
    append_big_endian(header, info.rows);
    if (dimensions == 2) append_big_endian(header, info.cols);
    return std::make_unique<FlatSink>(target, info, header, size_of(info.type) > 1);
}

}  // namespace kith::io
