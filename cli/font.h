// A small bitmap font for the contact sheet: 5 x 7 pixels above the line, two rows below it.
#pragma once

#include <array>
#include <cstdint>

namespace kith::cli {

inline constexpr int glyph_width = 5;
inline constexpr int glyph_height = 9;
inline constexpr int glyph_advance = 6;

using Glyph = std::array<std::uint8_t, glyph_height>;

// A blank for characters that the font lacks.
const Glyph& glyph_of(char character);

}  // namespace kith::cli
