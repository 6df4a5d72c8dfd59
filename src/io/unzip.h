// The members of a ZIP archive (PKWARE's APPNOTE.TXT 6.3), stored or deflated, zip64 too, each as
// an input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/input.h"

namespace kith::io {

struct ZipMember {
    std::string name;
    std::int64_t header = 0;  // offset of its local header
    std::int64_t stored = 0;  // bytes in the archive
    std::int64_t size = 0;    // bytes of its content
    std::uint32_t crc = 0;
    bool deflated = false;
};

// Throws bad_file, also for a member that is encrypted or compressed in another way.
std::vector<ZipMember> zip_members(ByteInput& archive);

// The content of a member. `location` names it in messages.
std::unique_ptr<ByteInput> open_member(std::unique_ptr<ByteInput> archive, const ZipMember& member,
                                       const Location& location);

}  // namespace kith::io
