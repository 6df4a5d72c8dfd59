// Zip archives of stored members: local header, bytes, ..., central directory (PKWARE's
// APPNOTE 6.3, sections 4.3 and 4.5.3).
#include "io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace kith::io {
namespace {

constexpr std::uint64_t version_of_zip64 = 45;
constexpr std::uint64_t first_of_january_1980 = 0x21;
constexpr std::uint64_t in_extra_field = 0xffffffff;
constexpr std::uint64_t zip64_extra = 1;

// A record: little-endian numbers one after the other.
class Record {
public:
    Record& u16(std::uint64_t value) { return number(value, 2); }
    Record& u32(std::uint64_t value) { return number(value, 4); }
    Record& u64(std::uint64_t value) { return number(value, 8); }
    // What the two headers of a stored member have in common.
    Record& stored(std::uint32_t crc, const std::string& name) {
        return u16(0)  // flags
            .u16(0)    // stored
            .u16(0)    // time
            .u16(first_of_january_1980)
            .u32(crc)
            .u32(in_extra_field)
            .u32(in_extra_field)
            .u16(name.size());
    }
    Record& text(const std::string& value) {
        bytes_ += value;
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

private:
    Record& number(std::uint64_t value, int size) {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
        return *this;
    }
    std::string bytes_;
};

}  // namespace

void ZipWriter::write(const std::string& bytes) {
    put_(bytes.data(), static_cast<std::int64_t>(bytes.size()));
    offset_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::int64_t size,
                    const std::function<void(const Put&)>& produce) {
    uLong crc = crc32(0, nullptr, 0);
    std::int64_t produced = 0;
    produce([&](const void* bytes, std::int64_t count) {
        crc = crc32_z(crc, static_cast<const Bytef*>(bytes), static_cast<z_size_t>(count));
        produced += count;
    });
    if (produced != size) throw std::logic_error("zip: a member of another size than was said");
    const Member member{name, static_cast<std::uint32_t>(crc), static_cast<std::uint64_t>(size),
                        offset_};
    members_.push_back(member);
    write(Record()
              .u32(0x04034b50)
              .u16(version_of_zip64)
              .stored(member.crc, name)
              .u16(20)
              .text(name)
              .u16(zip64_extra)
              .u16(16)
              .u64(member.size)
              .u64(member.size)
              .bytes());
    produce(put_);
    offset_ += member.size;
}

void ZipWriter::finish() {
    const std::uint64_t directory = offset_;
    for (const Member& member : members_) {
        write(Record()
                  .u32(0x02014b50)
                  .u16(version_of_zip64)
                  .u16(version_of_zip64)
                  .stored(member.crc, member.name)
                  .u16(28)
                  .u16(0)  // comment
                  .u16(0)  // disk
                  .u16(0)  // internal attributes
                  .u32(0)  // external attributes
                  .u32(in_extra_field)
                  .text(member.name)
                  .u16(zip64_extra)
                  .u16(24)
                  .u64(member.size)
                  .u64(member.size)
                  .u64(member.offset)
                  .bytes());
    }
    const std::uint64_t end = offset_;
    write(Record()
              .u32(0x06064b50)
              .u64(44)  // of this record, what follows
              .u16(version_of_zip64)
              .u16(version_of_zip64)
              .u32(0)  // disk
              .u32(0)  // disk of the directory
              .u64(members_.size())
              .u64(members_.size())
              .u64(end - directory)
              .u64(directory)
              .bytes());
    write(Record().u32(0x07064b50).u32(0).u64(end).u32(1).bytes());
    write(Record()
              .u32(0x06054b50)
              .u16(0)
              .u16(0)
              .u16(members_.size())
              .u16(members_.size())
              .u32(in_extra_field)
              .u32(in_extra_field)
              .u16(0)
              .bytes());
}

}  // namespace kith::io
