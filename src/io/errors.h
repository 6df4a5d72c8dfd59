// The two ways in which reading and writing fail, with uniform messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "kith/error.h"

namespace kith::io {

// The file's bytes at `offset` are not what the format says.
[[noreturn]] inline void bad_bytes(std::string_view path, std::int64_t offset,
                                   std::string_view expected, std::string_view found) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: offset {}: expected {}, found {}", path, offset, expected, found));
}

// The file as a whole cannot be opened, read or written.
[[noreturn]] inline void bad_file(std::string_view path, std::string_view why) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", path, why));
}

[[noreturn]] inline void bad_argument(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace kith::io
