// Reads netpbm's binary pictures.
#include "pnm.h"

#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <iterator>

#include "kith/error.h"

namespace kith::cli {
namespace {

constexpr std::int64_t most_side = 1 << 15;

[[noreturn]] void refuse_picture(const std::string& path, const std::string& why) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", path, why));
}

// A number of the header, behind blanks and comments.
std::int64_t header_number(std::ifstream& file, const std::string& path) {
    int letter = file.get();
    while (letter == '#' || std::isspace(letter)) {
        if (letter == '#')
            while (letter != '\n' && letter != EOF) letter = file.get();
        letter = file.get();
    }
    std::int64_t number = 0;
    if (!std::isdigit(letter)) refuse_picture(path, "expected a number in the header");
    for (; std::isdigit(letter); letter = file.get()) {
        number = number * 10 + (letter - '0');
        if (number > most_side) refuse_picture(path, fmt::format("expected numbers up to {} in the header", most_side));
    }
    if (!std::isspace(letter)) refuse_picture(path, "expected a blank behind a number of the header");
    return number;
}

}  // namespace

bool is_picture(const std::string& path) {
    return path.ends_with(".pgm") || path.ends_with(".ppm") || path.ends_with(".pnm");
}

Picture read_picture(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) refuse_picture(path, "cannot be opened");
    char magic[2] = {};
    file.read(magic, 2);
    if (magic[0] != 'P' || (magic[1] != '5' && magic[1] != '6'))
        refuse_picture(path, "expected a binary PGM (P5) or PPM (P6)");
    Picture picture;
    picture.channels = magic[1] == '6' ? 3 : 1;
    picture.width = header_number(file, path);
    picture.height = header_number(file, path);
    const std::int64_t largest = header_number(file, path);
    if (largest < 1 || largest > 255)
        refuse_picture(path, fmt::format("levels up to {}; expected at most 255", largest));
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
