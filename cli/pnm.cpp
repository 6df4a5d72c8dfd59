// Reads netpbm's binary pictures.
#include "pnm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "kith/error.h"

namespace kith::cli {
namespace {

constexpr std::int64_t most_side = 1 << 15, most_level = 65535;

[[noreturn]] void refuse_picture(const std::string& path, const std::string& why) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", path, why));
}

// A number of the header, after blanks and comments: `what`, of at most `most`.
std::int64_t header_number(std::ifstream& file, const std::string& path, const char* what, std::int64_t most) {
    int letter = file.get();
    while (letter == '#' || std::isspace(letter)) {
        if (letter == '#')
            while (letter != '\n' && letter != EOF) letter = file.get();
        letter = file.get();
    }
    std::int64_t number = 0;
    if (!std::isdigit(letter)) refuse_picture(path, fmt::format("expected the {} in the header, a number", what));
    for (; std::isdigit(letter); letter = file.get()) {
        number = number * 10 + (letter - '0');
        if (number > most) refuse_picture(path, fmt::format("expected a {} of at most {} in the header", what, most));
    }
    if (!std::isspace(letter)) refuse_picture(path, "expected a blank behind a number of the header");
    return number;
}

}  // namespace

bool is_picture(const std::string& path) {
    std::string name = path;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.ends_with(".pgm") || name.ends_with(".ppm") || name.ends_with(".pnm");
}

Picture read_picture(const std::string& path) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(path, unknown);
    if (is_directory(status)) refuse_picture(path, "expected a file, found a directory");
    if (exists(status) && !is_regular_file(status)) refuse_picture(path, "expected a regular file");
    std::ifstream file(path, std::ios::binary);
    if (!file) refuse_picture(path, fmt::format("expected a readable file: {}", std::strerror(errno)));
    char magic[2] = {};
    file.read(magic, 2);
    if (magic[0] != 'P' || (magic[1] != '5' && magic[1] != '6'))
        refuse_picture(path, "expected a binary PGM (P5) or PPM (P6)");
    Picture picture;
    picture.channels = magic[1] == '6' ? 3 : 1;
    picture.width = header_number(file, path, "width", most_side);
    picture.height = header_number(file, path, "height", most_side);
    const std::int64_t largest = header_number(file, path, "largest level", most_level);
    if (largest < 1 || largest > 255)
        refuse_picture(path, fmt::format("levels up to {}; expected 1 to 255, a byte for each", largest));
    const std::int64_t bytes = picture.height * picture.width * picture.channels;
    const auto start = file.tellg();
    file.seekg(0, std::ios::end);
    if (bytes < 1 || file.tellg() - start < bytes)
        refuse_picture(path, fmt::format("{} x {} pixels of {} channels, and {} bytes of them", picture.width,
                                         picture.height, picture.channels, std::streamoff(file.tellg() - start)));
    file.seekg(start);
    picture.values.resize(static_cast<std::size_t>(bytes));
    file.read(reinterpret_cast<char*>(picture.values.data()), bytes);
    if (!file) refuse_picture(path, "cannot be read");
    return picture;
}

}  // namespace kith::cli
