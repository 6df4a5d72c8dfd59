// Pictures in netpbm's binary formats: PGM (P5) and PPM (P6) of up to 255.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::cli {

struct Picture {
    std::int64_t height = 0, width = 0;
    int channels = 0;  // 1 or 3, interleaved
    std::vector<std::uint8_t> values;
    MatrixView view() const { return kith::view(values.data(), height, width * channels); }
};

// By its name: .pgm, .ppm, .pnm, in letters of either case.
bool is_picture(const std::string& path);
// Throws bad_file.
Picture read_picture(const std::string& path);

}  // namespace kith::cli
