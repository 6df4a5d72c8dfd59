// fbin, ibin, u8bin, i8bin, hbin, dbin (big-ann-benchmarks, cuVS, usearch): u32 rows, u32 columns,
// then the rows; or both as u64, as cuVS writes what 32 bits do not hold.
#include <optional>

#include "io/errors.h"
#include "io/flat.h"

namespace kith::io {
namespace {

constexpr std::int64_t header_bytes = 2 * sizeof(std::uint32_t);

constexpr std::int64_t wide_header_bytes = 2 * sizeof(std::uint64_t);

// What a header of 64 bits says; nothing where there can be none.
std::optional<FileInfo> wide_header(ByteInput& input, FileInfo info) {
    if (input.size_within(wide_header_bytes) < wide_header_bytes) return {};
    const auto rows = input.value_at<std::uint64_t>(0),
               cols = input.value_at<std::uint64_t>(sizeof(std::uint64_t));
    if (rows < 1 || cols < 1 || rows > INT64_MAX || cols > INT64_MAX) return {};
    info.rows = static_cast<std::int64_t>(rows);
    info.cols = static_cast<std::int64_t>(cols);
    return matrix_bytes(info.rows, info.cols, info.type) < 0 ? std::nullopt : std::optional(info);
}

// Whether the file is as long as its header says.
bool is_whole(ByteInput& input, const FileInfo& info, std::int64_t header) {
    const std::int64_t bytes = matrix_bytes(info.rows, info.cols, info.type);
    return bytes > 0 && bytes <= input.most_bytes() - header &&
           input.size_within(header + bytes) == header + bytes;
}

// Whether the file was cut off, still has the header of the whole, and holds all rows that are
// asked for.
bool is_part(ByteInput& input, const Location& location, FileInfo& info, std::int64_t header) {
    const std::int64_t whole = matrix_bytes(info.rows, info.cols, info.type);
    if (info.cols < 1 || !input.is_counted() || input.size() - header >= whole) return false;
    const std::int64_t rows = (input.size() - header) / matrix_bytes(1, info.cols, info.type);
    if (rows < 1) return false;
    const std::optional<RowRange>& asked = location.rows;
    if (!asked || !asked->count || asked->first > rows || *asked->count > rows - asked->first) {
        bad_bytes(input.path(), header,
                  fmt::format("{} bytes up to the end of the file ({} x {} {})", whole, info.rows,
                              info.cols, name(info.type)),
                  fmt::format(
                      "{}; where it is a part of the whole, {}:0:{} reads the rows that are there",
                      input.size() - header, input.path(), rows));
    }
    info.remark =
        fmt::format("a part: {} of the {} rows that its header says are there", rows, info.rows);
    info.rows = rows;
    return true;
}

SourcePtr open_bin(const Location& location, const char* format, ElementType type) {
    std::unique_ptr<ByteInput> input = open_input(location);
    FileInfo info{format, input->value_at<std::uint32_t>(0), input->value_at<std::uint32_t>(4),
                  type};
    std::int64_t header = header_bytes;
    const std::int64_t bytes = matrix_bytes(info.rows, info.cols, type);
    if (bytes > 0 && bytes <= input->most_bytes() - header && !input->is_counted())
        input->require_room(
            bytes, fmt::format("{} ({} x {} {})", input->path(), info.rows, info.cols, name(type)));
    if (!is_whole(*input, info, header)) {
        const std::optional<FileInfo> wide = wide_header(*input, info);
        // One of 32 bits that says nothing is half of one of 64, be the file a part.
        if (wide &&
            (is_whole(*input, *wide, wide_header_bytes) || info.rows < 1 || info.cols < 1)) {
            info = *wide;
            header = wide_header_bytes;
        }
        if (is_part(*input, location, info, header))
            return std::make_unique<FlatSource>(std::move(input), info, header);
    }
    require_exact_size(*input, info, header);
    return std::make_unique<FlatSource>(std::move(input), info, header);
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
SourcePtr open_dbin(const Location& location) {
    return open_bin(location, "dbin", ElementType::f64);
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
SinkPtr create_dbin(const Target& target, const FileInfo& info) {
    return create_bin(target, info, "f64");
}

}  // namespace kith::io
