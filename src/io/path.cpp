// Parses paths and finds formats by name and suffix.
#include "io/path.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "io/errors.h"
#include "io/input.h"
#include "io/table_options.h"
#include "kith/did_you_mean.h"

namespace kith::io {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

bool is_directory(const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
}

// "npy" of "points.npy".
std::string suffix_of(const std::string& file) {
    const std::string suffix = fs::path(file).extension().string();
    return suffix.empty() ? suffix : suffix.substr(1);
}

std::int64_t row_number(const std::string& path, std::string_view digits) {
    std::int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) {
        bad_argument(fmt::format("{}: expected row numbers below 2^63, got {}", path, digits));
    }
    return value;
}

bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Takes ":FIRST:[COUNT]" off the end, if it is there.
std::optional<RowRange> take_rows(const std::string& path, std::string& rest) {
    const std::size_t second = rest.rfind(':');
    if (second == std::string::npos || second == 0) return {};
    const std::size_t first = rest.rfind(':', second - 1);
    if (first == std::string::npos) return {};
    const std::string_view text = rest;
    const std::string_view from = text.substr(first + 1, second - first - 1);
    const std::string_view count = text.substr(second + 1);
    if (from.empty() || !all_digits(from) || !all_digits(count)) return {};
    RowRange range{row_number(path, from), {}};
    if (!count.empty()) range.count = row_number(path, count);
    rest.resize(first);
    return range;
}

const Format* format_by_suffix(std::string file) {
    std::transform(file.begin(), file.end(), file.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (is_gzip_name(file)) file.resize(file.size() - 3);
    for (const Format& format : formats()) {
        std::istringstream suffixes(format.suffixes);
        for (std::string suffix; suffixes >> suffix;) {
            if (file.ends_with(suffix)) return &format;
        }
    }
    return nullptr;
}

}  // namespace

std::string standard_input_of(const std::string& path) {
    for (const char* const file : {"-", "/dev/stdin"}) {
        const std::string name = file;
        if (path == name || path.starts_with(name + "/") || path.starts_with(name + ":"))
            return file;
    }
    return "";
}

SourcePath parse_source(const std::string& path) {
    std::string rest = path;
    if (const std::string name = standard_input_of(path); !name.empty()) {
        const std::optional<RowRange> rows = take_rows(path, rest);
        return {{name, rest.size() > name.size() ? rest.substr(name.size() + 1) : ""}, rows};
    }
    if (is_file(path)) return {{path, ""}, {}};
    const std::optional<RowRange> rows = take_rows(path, rest);
    if (is_file(rest)) return {{rest, ""}, rows};
    for (std::size_t slash = rest.rfind('/'); slash != std::string::npos && slash > 0;
         slash = rest.rfind('/', slash - 1)) {
        const std::string file = rest.substr(0, slash);
        if (is_file(file)) return {{file, rest.substr(slash + 1)}, rows};
    }
    return {{rest, ""}, rows};
}

Location parse_target(const std::string& path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
        const std::string file = path.substr(0, slash);
        if (format_by_suffix(file) && !is_directory(file)) return {file, path.substr(slash + 1)};
    }
    return {path, ""};
}

const Format& format_of(const std::string& file, const std::string& name) {
    std::string names;
    std::vector<std::string> all;
    for (const Format& format : formats()) {
        if (name == format.name) return format;
        names += names.empty() ? "" : " ";
        names += format.name;
        all.emplace_back(format.name);
    }
    const std::string shown = name_in_messages(file);
    if (!name.empty())
        bad_argument(fmt::format("{}: expected a format of {}, got \"{}\"{}", shown, names, name,
                                 did_you_mean(name, all)));
    if (is_standard_input(file))
        bad_argument(fmt::format("{}: expected a format of {} (--format)", shown, names));
    if (const Format* format = format_by_suffix(file)) return *format;
    if (is_directory(file)) bad_argument(fmt::format("{}: a folder; expected a file", file));
    if (const std::string before = file.substr(0, file.find(':'));
        before != file && is_file(before)) {
        bad_argument(fmt::format("{}: expected rows as {}:FIRST:COUNT or {}:FIRST:, in digits",
                                 file, before, before));
    }
    bad_argument(
        fmt::format("{}: expected a file name with a known suffix{}, or a format of {} (--format)",
                    file, did_you_mean(suffix_of(file), all), names));
}

const Format& format_to_write(const std::string& what, const std::string& file,
                              const std::string& name) {
    if (!name.empty()) return format_of(file, name);
    if (const Format* format = format_by_suffix(file)) return *format;
    std::string suffixes;
    std::vector<std::string> all;
    for (const Format& format : formats()) {
        if (std::string_view(format.what).ends_with("read only here") || !*format.suffixes)
            continue;
        suffixes += suffixes.empty() ? "" : " ";
        suffixes += std::string_view(format.suffixes)
                        .substr(0, std::string_view(format.suffixes).find(' '));
        all.emplace_back(format.name);
    }
    bad_argument(fmt::format("{} {}: expected a file name that ends in one of {}{}", what, file,
                             suffixes, did_you_mean(suffix_of(file), all)));
}

const Format& format_to_read(Location& location, const std::string& name) {
    const std::size_t colon = std::min(name.find(':'), name.size());
    std::string plain = name.substr(0, colon);
    location.gzipped = is_gzip_name(plain);
    if (location.gzipped) plain.resize(plain.size() - 3);
    const Format& format = format_of(location.file, plain);
    if (colon == name.size()) return format;
    if (!std::string_view(format.name).starts_with("csv")) {
        bad_argument(fmt::format(
            "{}: expected options of a table ({}) with text (csv, csv64, csvi64), got {}",
            name_in_messages(location.file), name.substr(colon + 1), format.name));
    }
    location.table = parse_table_options(name.substr(colon));
    return format;
}

}  // namespace kith::io
