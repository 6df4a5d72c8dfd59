// Reads and writes rows without gaps.
#include "io/flat.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "io/errors.h"

namespace kith::io {

void require_exact_size(ByteInput& input, const FileInfo& info, std::int64_t offset,
                        std::string_view stored) {
    if (info.rows < 1 || info.cols < 1) {
        bad_bytes(input.path(), offset, "at least one row and one column",
                  fmt::format("{} x {}", info.rows, info.cols));
    }
    const std::int64_t bytes = matrix_bytes(info.rows, info.cols, info.type);
    const std::string shape =
        fmt::format("{} x {} {}", info.rows, info.cols,
                    stored.empty() ? std::string_view(name(info.type)) : stored);
    const auto refuse = [&](std::int64_t found, const char* more) {
        const std::string size = bytes < 0 ? "more than 2^63" : fmt::format("{}", bytes);
        bad_bytes(input.path(), offset,
                  fmt::format("{} bytes up to the end of the file ({})", size, shape),
                  fmt::format("{}{}", found, input.is_counted() ? "" : more));
    };
    const std::int64_t most = input.most_bytes() - offset;
    if (bytes < 0 || bytes > most) refuse(most, " at most");
    if (!input.is_counted()) input.require_room(bytes, fmt::format("{} ({})", input.path(), shape));
    const std::int64_t found = input.size_within(offset + bytes) - offset;
    if (found != bytes) refuse(found, " or more");
}

FlatSource::FlatSource(std::unique_ptr<ByteInput> input, FileInfo info, std::int64_t offset,
                       bool swapped)
    : Source(std::move(info)),
      input_(std::move(input)),
      offset_(offset),
      row_bytes_(info_.cols * static_cast<std::int64_t>(size_of(info_.type))),
      swapped_(swapped) {}

void FlatSource::read(std::int64_t first, std::int64_t count, std::byte* out) {
    input_->read_at(offset_ + first * row_bytes_, out, count * row_bytes_);
    if (swapped_)
        swap_bytes(out, static_cast<std::size_t>(count * info_.cols), size_of(info_.type));
}

FlatSink::FlatSink(const Target& target, const FileInfo& info, std::string_view header,
                   bool swapped)
    : output_(open_output(target)), info_(info), swapped_(swapped) {
    output_->write(header.data(), static_cast<std::int64_t>(header.size()));
}

void FlatSink::append(const std::byte* rows, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(size_of(info_.type));
    std::int64_t elements = count * info_.cols;
    if (!swapped_) {
        output_->write(rows, elements * size);
        return;
    }
    constexpr std::int64_t block = 1 << 16;
    std::vector<std::byte> swapped(static_cast<std::size_t>(std::min(block, elements) * size));
    for (; elements > 0; elements -= block) {
        const std::int64_t some = std::min(block, elements);
        std::memcpy(swapped.data(), rows, static_cast<std::size_t>(some * size));
        swap_bytes(swapped.data(), static_cast<std::size_t>(some), static_cast<std::size_t>(size));
        output_->write(swapped.data(), some * size);
        rows += some * size;
    }
}

std::string u32_header(const Target& target, const FileInfo& info) {
    constexpr std::int64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (info.rows > limit || info.cols > limit) {
        bad_argument(fmt::format("{}: expected at most {} rows and columns in {}, got {} x {}",
                                 target.file, limit, info.format, info.rows, info.cols));
    }
    const std::uint32_t shape[2] = {static_cast<std::uint32_t>(info.rows),
                                    static_cast<std::uint32_t>(info.cols)};
    return {reinterpret_cast<const char*>(shape), sizeof shape};
}

}  // namespace kith::io
