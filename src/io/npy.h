// An npy array in any input: a file, or a member of an npz archive.
#pragma once

#include <memory>

#include "io/format.h"
#include "io/input.h"

namespace kith::io {

// Integers and truth values that kith has no type of are read as the narrowest that holds them all:
// i16 and u16 as f32, bool as u8, u32 and u64 as i64 (a u64 beyond is bad_file when it is read).
SourcePtr open_array(std::unique_ptr<ByteInput> input, const char* format);

}  // namespace kith::io
