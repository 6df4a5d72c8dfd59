// The checksum of a job's files: zlib's CRC-32.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace kith::groundtruth {

class Checksum {
public:
    void add(const void* bytes, std::size_t count) {
        value_ = crc32_z(value_, static_cast<const Bytef*>(bytes), count);
    }
    std::uint32_t value() const { return static_cast<std::uint32_t>(value_); }

private:
    uLong value_ = crc32_z(0, nullptr, 0);
};

}  // namespace kith::groundtruth
