// An npy array in any input: a file, or a member of an npz archive.
#pragma once

#include <memory>

#include "io/format.h"
#include "io/input.h"

namespace kith::io {

// Integer and boolean types that kith lacks are read as the narrowest type that holds all values.
// i16 and u16 become f32, bool becomes u8, u32 and u64 become i64; reading a larger u64 throws
// bad_file.
SourcePtr open_array(std::unique_ptr<ByteInput> input, const char* format);

}  // namespace kith::io
