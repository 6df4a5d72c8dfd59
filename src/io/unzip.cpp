// Reads ZIP archives by their central directory.
#include "io/unzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "io/errors.h"
#include "io/gzip.h"

namespace kith::io {
namespace {

constexpr std::int64_t end_bytes = 22, locator_bytes = 20, end64_bytes = 56, entry_bytes = 46,
                       local_bytes = 30;
constexpr std::int64_t longest_comment = 0xffff;
// Of some 200,000 arrays.
constexpr std::int64_t largest_directory = std::int64_t{16} << 20;
constexpr std::uint32_t end_magic = 0x06054b50, locator_magic = 0x07064b50,
                        end64_magic = 0x06064b50, entry_magic = 0x02014b50,
                        local_magic = 0x04034b50;
constexpr std::uint16_t zip64_field = 1;

// Of a stored member, read at a time to check it.
constexpr std::int64_t step_bytes = std::int64_t{1} << 18;

template <class T>
T load(const std::vector<char>& bytes, std::size_t at) {
    T value{};
    if (at <= bytes.size() && sizeof value <= bytes.size() - at)
        std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

struct Directory {
    std::int64_t offset, bytes, entries;
};

std::int64_t signed_of(ByteInput& archive, std::int64_t at, std::uint64_t value) {
    if (value > INT64_MAX)
        bad_bytes(archive.path(), at, "a number below 2^63", fmt::format("{}", value));
    return static_cast<std::int64_t>(value);
}

Directory find_directory(ByteInput& archive) {
    const std::int64_t tail = std::min(archive.size(), end_bytes + longest_comment);
    std::vector<char> bytes(static_cast<std::size_t>(tail));
    archive.read_at(archive.size() - tail, bytes.data(), tail);
    std::int64_t end = -1;
    for (std::int64_t at = tail - end_bytes; at >= 0 && end < 0; --at) {
        const auto place = static_cast<std::size_t>(at);
        const bool whole = at + end_bytes + load<std::uint16_t>(bytes, place + 20) == tail;
        if (load<std::uint32_t>(bytes, place) == end_magic && whole) end = at;
    }
    if (end < 0)
        bad_bytes(archive.path(), archive.size(), "the end of a ZIP archive before", "other bytes");
    const auto place = static_cast<std::size_t>(end);
    const std::int64_t end_offset = archive.size() - tail + end;
    Directory directory{load<std::uint32_t>(bytes, place + 16),
                        load<std::uint32_t>(bytes, place + 12),
                        load<std::uint16_t>(bytes, place + 10)};
    // The larger numbers lie before, where there are some.
    if (end_offset >= locator_bytes &&
        archive.value_at<std::uint32_t>(end_offset - locator_bytes) == locator_magic) {
        const std::int64_t wide = signed_of(
            archive, end_offset, archive.value_at<std::uint64_t>(end_offset - locator_bytes + 8));
        if (wide > archive.size() - end64_bytes ||
            archive.value_at<std::uint32_t>(wide) != end64_magic) {
            bad_bytes(archive.path(), wide, "the end record of a zip64 archive", "other bytes");
        }
        directory = {signed_of(archive, wide + 48, archive.value_at<std::uint64_t>(wide + 48)),
                     signed_of(archive, wide + 40, archive.value_at<std::uint64_t>(wide + 40)),
                     signed_of(archive, wide + 32, archive.value_at<std::uint64_t>(wide + 32))};
    }
    if (directory.offset > archive.size() || directory.bytes > archive.size() - directory.offset) {
        bad_bytes(archive.path(), end_offset, "a directory within the archive",
                  fmt::format("{} bytes from {} on", directory.bytes, directory.offset));
    }
    if (directory.bytes > largest_directory) {
        bad_bytes(archive.path(), end_offset,
                  fmt::format("a directory of at most {} bytes", largest_directory),
                  fmt::format("{}", directory.bytes));
    }
    return directory;
}

// Takes from the zip64 field what the entry itself has no room for, in the order of the format.
void widen(const std::vector<char>& bytes, std::size_t extra, std::size_t end,
           std::uint64_t* const* values, std::size_t count) {
    while (extra + 4 <= end) {
        const auto id = load<std::uint16_t>(bytes, extra);
        const std::size_t next = extra + 4 + load<std::uint16_t>(bytes, extra + 2);
        if (id == zip64_field) {
            std::size_t at = extra + 4;
            for (std::size_t i = 0; i < count; ++i) {
                if (*values[i] != 0xffffffff || at + 8 > std::min(next, end)) continue;
                *values[i] = load<std::uint64_t>(bytes, at);
                at += 8;
            }
            return;
        }
        extra = next;
    }
}

class StoredMember final : public ByteInput {
public:
    StoredMember(std::unique_ptr<ByteInput> archive, const Location& location, std::int64_t offset,
                 const ZipMember& member)
        : ByteInput(location), archive_(std::move(archive)), offset_(offset) {
        size_ = member.size;
        require_checksum(member.crc);
    }

private:
    // All of it, once: what is read later may be a part.
    void require_checksum(std::uint32_t expected) {
        std::vector<std::byte> step(static_cast<std::size_t>(step_bytes));
        uLong crc = crc32(0, nullptr, 0);
        for (std::int64_t at = 0; at < size_; at += step_bytes) {
            poll();
            const std::int64_t some = std::min(step_bytes, size_ - at);
            fetch(at, step.data(), some);
            crc = crc32(crc, reinterpret_cast<const Bytef*>(step.data()), static_cast<uInt>(some));
        }
        if (crc == expected) return;
        bad_file(path_, fmt::format("expected {} bytes of the checksum {:08x}, found {:08x}", size_,
                                    expected, crc));
    }

    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) override {
        archive_->read_at(offset_ + offset, out, count);
    }

    std::unique_ptr<ByteInput> archive_;
    std::int64_t offset_;
};

class InflatedMember final : public StreamInput {
public:
    InflatedMember(std::unique_ptr<ByteInput> archive, const Location& location,
                   std::int64_t offset, const ZipMember& member)
        : StreamInput(location),
          archive_(std::move(archive)),
          offset_(offset),
          member_(member),
          read_(1 << 16) {
        if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
            bad_file(path_, "cannot start decompression");
        InflatedMember::restart();
    }
    ~InflatedMember() override { inflateEnd(&stream_); }
    InflatedMember(const InflatedMember&) = delete;
    InflatedMember& operator=(const InflatedMember&) = delete;

    std::int64_t most_bytes() const override { return member_.size; }

private:
    void restart() override {
        inflateReset(&stream_);
        stream_.avail_in = 0;
        taken_ = 0;
        given_ = 0;
        crc_ = crc32(0, nullptr, 0);
        at_end_ = false;
    }

    std::int64_t next(std::byte* out, std::int64_t count) override {
        stream_.next_out = reinterpret_cast<Bytef*>(out);
        stream_.avail_out = static_cast<uInt>(count);
        while (stream_.avail_out > 0 && !at_end_) {
            if (stream_.avail_in == 0) refill();
            const int code = inflate(&stream_, Z_NO_FLUSH);
            if (code == Z_STREAM_END) at_end_ = true;
            else if (code != Z_OK) bad_bytes(path_, taken_, "a deflated stream", "a broken one");
        }
        const auto got = count - static_cast<std::int64_t>(stream_.avail_out);
        crc_ = crc32(crc_, reinterpret_cast<const Bytef*>(out), static_cast<uInt>(got));
        given_ += got;
        if (given_ > member_.size || (at_end_ && (given_ != member_.size || crc_ != member_.crc))) {
            bad_file(
                path_,
                fmt::format("expected {} bytes of the checksum {:08x}, found {}{} of {:08x}",
                            member_.size, member_.crc, given_, at_end_ ? "" : " or more", crc_));
        }
        return got;
    }

    void refill() {
        const std::int64_t some = std::min<std::int64_t>(static_cast<std::int64_t>(read_.size()),
                                                         member_.stored - taken_);
        if (some <= 0)
            bad_bytes(path_, taken_, "a complete deflated stream", "its end in the middle");
        archive_->read_at(offset_ + taken_, read_.data(), some);
        taken_ += some;
        stream_.next_in = read_.data();
        stream_.avail_in = static_cast<uInt>(some);
    }

    std::unique_ptr<ByteInput> archive_;
    std::int64_t offset_;
    ZipMember member_;
    std::vector<Bytef> read_;
    z_stream stream_{};
    std::int64_t taken_ = 0, given_ = 0;
    uLong crc_ = 0;
    bool at_end_ = false;
};

}  // namespace

std::vector<ZipMember> zip_members(ByteInput& archive) {
    const Directory directory = find_directory(archive);
    std::vector<char> bytes(static_cast<std::size_t>(directory.bytes));
    archive.read_at(directory.offset, bytes.data(), directory.bytes);
    std::vector<ZipMember> members;
    for (std::size_t at = 0;
         at < bytes.size() && static_cast<std::int64_t>(members.size()) < directory.entries;) {
        const std::int64_t offset = directory.offset + static_cast<std::int64_t>(at);
        if (load<std::uint32_t>(bytes, at) != entry_magic || bytes.size() - at < entry_bytes) {
            bad_bytes(archive.path(), offset, "an entry of a ZIP directory", "other bytes");
        }
        const std::size_t name = at + entry_bytes;
        const std::size_t extra = name + load<std::uint16_t>(bytes, at + 28);
        const std::size_t comment = extra + load<std::uint16_t>(bytes, at + 30);
        const std::size_t next = comment + load<std::uint16_t>(bytes, at + 32);
        if (next > bytes.size())
            bad_bytes(archive.path(), offset, "an entry within the directory", "a longer one");
        std::uint64_t size = load<std::uint32_t>(bytes, at + 24),
                      stored = load<std::uint32_t>(bytes, at + 20),
                      header = load<std::uint32_t>(bytes, at + 42);
        std::uint64_t* const wide[] = {&size, &stored, &header};
        widen(bytes, extra, comment, wide, 3);
        const auto method = load<std::uint16_t>(bytes, at + 10);
        ZipMember member{std::string(bytes.data() + name, extra - name),
                         signed_of(archive, offset, header),
                         signed_of(archive, offset, stored),
                         signed_of(archive, offset, size),
                         load<std::uint32_t>(bytes, at + 16),
                         method == 8};
        if ((load<std::uint16_t>(bytes, at + 8) & 1) != 0)
            bad_file(archive.path(), member.name + " is encrypted");
        if (method != 0 && method != 8) {
            bad_file(archive.path(),
                     fmt::format("{}: expected stored or deflated data, found method {}",
                                 member.name, method));
        }
        members.push_back(std::move(member));
        at = next;
    }
    return members;
}

std::unique_ptr<ByteInput> open_member(std::unique_ptr<ByteInput> archive, const ZipMember& member,
                                       const Location& location) {
    if (member.header > archive->size() - local_bytes ||
        archive->value_at<std::uint32_t>(member.header) != local_magic) {
        bad_bytes(archive->path(), member.header, fmt::format("the header of {}", member.name),
                  "other bytes");
    }
    const std::int64_t offset = member.header + local_bytes +
                                archive->value_at<std::uint16_t>(member.header + 26) +
                                archive->value_at<std::uint16_t>(member.header + 28);
    if (offset > archive->size() || member.stored > archive->size() - offset) {
        bad_bytes(archive->path(), offset,
                  fmt::format("{} bytes of {}", member.stored, member.name),
                  fmt::format("the end of the file at {}", archive->size()));
    }
    if (member.deflated)
        return std::make_unique<InflatedMember>(std::move(archive), location, offset, member);
    if (member.size != member.stored) {
        bad_bytes(archive->path(), member.header,
                  fmt::format("as many bytes as {} has", member.name),
                  fmt::format("{} of {}", member.stored, member.size));
    }
    return std::make_unique<StoredMember>(std::move(archive), location, offset, member);
}

}  // namespace kith::io
