// fbin, ibin, u8bin, i8bin, hbin (big-ann-benchmarks): u32 rows, u32 columns, then the rows.
#include "io/errors.h"
#include "io/flat.h"

namespace kith::io {
namespace {

constexpr std::int64_t header_bytes = 2 * sizeof(std::uint32_t);

SourcePtr open_bin(const Location& location, const char* format, ElementType type) {
    std::unique_ptr<ByteInput> input = open_input(location);
    const FileInfo info{format, input->value_at<std::uint32_t>(0), input->value_at<std::uint32_t>(4), type};
    require_exact_size(*input, info, header_bytes);
    return std::make_unique<FlatSource>(std::move(input), info, header_bytes);
}

SinkPtr create_bin(const Target& target, const FileInfo& info, const char* type) {
    require_type(target, info, type);
    return std::make_unique<FlatSink>(target, info, u32_header(target, info));
}

}  // namespace

SourcePtr open_fbin(const Location& location) {
    return open_bin(location, "fbin", ElementType::f32);
}
SourcePtr open_ibin(const Location& location) {
    return open_bin(location, "ibin", ElementType::i32);
}
SourcePtr open_u8bin(const Location& location) {
    return open_bin(location, "u8bin", ElementType::u8);
}
SourcePtr open_i8bin(const Location& location) {
    return open_bin(location, "i8bin", ElementType::i8);
}
SourcePtr open_hbin(const Location& location) {
    return open_bin(location, "hbin", ElementType::f16);
}
SinkPtr create_fbin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "f32");
}
SinkPtr create_ibin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "i32");
}
SinkPtr create_u8bin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "u8");
}
SinkPtr create_i8bin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "i8");
}
SinkPtr create_hbin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "f16");
}

}  // namespace kith::io
