// The header of an npy file (NumPy Enhancement Proposal 1): a Python dictionary after a magic and
// its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.h"

namespace kith::io {

// How elements lie in the file where kith has no type of that kind.
enum class NpyForeign : std::uint8_t { none, boolean, i16, u16, u32, u64 };

struct NpyHeader {
    ElementType type = ElementType::f32;  // of the reader
    NpyForeign foreign = NpyForeign::none;
    std::string_view stored;  // the file's name of the type, "f4"
    bool swapped = false;     // big-endian elements
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
    std::int64_t data_offset = 0;
};

// Throws bad_file.
NpyHeader read_npy_header(ByteInput& input);

// A version 1.0 header in C order, padded as NumPy pads it. Empty where npy has no such type.
std::string npy_header(std::int64_t rows, std::int64_t cols, ElementType type);

}  // namespace kith::io
