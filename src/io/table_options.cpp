// Reads and writes the options of a table in text.
#include "io/table_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "io/errors.h"
#include "kith/did_you_mean.h"

namespace kith {
namespace io {
namespace {

constexpr std::string_view header_key = ":header=", skip_key = ":skip=", decimal_key = ":decimal=",
                           columns_key = ":columns=";

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || text[0] == '-' || end != text.data() + text.size() || error != std::errc{})
        return {};
    return value;
}

// Takes "KEY" and the text behind it, up to the next colon, off the front.
std::optional<std::string_view> take(std::string_view& text, std::string_view key) {
    if (!text.starts_with(key)) return {};
    text.remove_prefix(key.size());
    const std::string_view value = text.substr(0, text.find(':'));
    text.remove_prefix(value.size());
    return value;
}

[[noreturn]] void refuse_option(std::string_view text) {
    bad_argument(
        fmt::format("options of a table: expected :header=yes, :header=no, :skip=N, "
                    ":decimal=comma, :columns=LIST in this order, "
                    "got {}",
                    text));
}

// What an item of a list of columns stands for: first and last, from 1 on.
struct Span {
    std::int64_t first, last;
};

// " (x, y, z)", the first of many names.
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 12;
    if (names.empty()) return ", of which the table names none";
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
        text += fmt::format("{}{}", i ? ", " : " (", names[i].substr(0, 40));
    return text + (names.size() > most ? ", ...)" : ")");
}

Span span_of(const std::string& path, std::string_view item, std::int64_t cells,
             const std::vector<std::string>& names) {
    const std::size_t dash = item.find('-');
    const std::string_view from = item.substr(0, dash);
    const std::string_view to = dash == std::string_view::npos ? from : item.substr(dash + 1);
    const std::optional<std::int64_t> first = whole_number(from);
    const std::optional<std::int64_t> last =
        dash != std::string_view::npos && to.empty() ? cells : whole_number(to);
    if (first && last) {
        if (*first < 1 || *first > *last || *last > cells) {
            bad_argument(fmt::format("{}: columns: expected places from 1 to {}, got {}", path,
                                     cells, item));
        }
        return {*first, *last};
    }
    const auto found = item.empty() ? names.end() : std::find(names.begin(), names.end(), item);
    if (found == names.end()) {
        bad_argument(fmt::format(
            "{}: columns: expected places (2, 2-, 2-5) or names of its {} columns{}, got \"{}\"{}",
            path, cells, listed(names), item, did_you_mean(item, names)));
    }
    if (std::find(found + 1, names.end(), item) != names.end()) {
        bad_argument(fmt::format(
            "{}: columns: expected a name of one column, got \"{}\" of several", path, item));
    }
    return {found - names.begin() + 1, found - names.begin() + 1};
}

}  // namespace

TableOptions parse_table_options(const std::string& text) {
    std::string_view rest = text;
    TableOptions options;
    if (const auto header = take(rest, header_key)) {
        if (*header != "yes" && *header != "no") refuse_option(text);
        options.header = *header == "yes";
    }
    if (const auto skip = take(rest, skip_key)) {
        const std::optional<std::int64_t> lines = whole_number(*skip);
        if (!lines) refuse_option(text);
        options.skip = *lines;
    }
    if (const auto decimal = take(rest, decimal_key)) {
        if (*decimal != "comma") refuse_option(text);
        options.decimal_comma = true;
    }
    if (rest.starts_with(columns_key)) {
        options.columns = rest.substr(columns_key.size());
        if (options.columns.empty()) refuse_option(text);
    } else if (!rest.empty()) {
        refuse_option(text);
    }
    return options;
}

std::vector<ColumnRange> parse_columns(const std::string& path, std::string_view list,
                                       std::int64_t cells, const std::vector<std::string>& names) {
    std::vector<ColumnRange> ranges;
    std::int64_t to = 0;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const Span span = span_of(path, list.substr(begin, end - begin), cells, names);
        const std::int64_t count = span.last - span.first + 1;
        ranges.push_back({span.first - 1, count, to});
        to += count;
        begin = end + 1;
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const ColumnRange& a, const ColumnRange& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i].first >= ranges[i - 1].first + ranges[i - 1].count) continue;
        bad_argument(
            fmt::format("{}: columns: expected each column once, got column {} twice in {}", path,
                        ranges[i].first + 1, list));
    }
    return ranges;
}

}  // namespace io

std::string table_format(const std::string& format, const TableOptions& options) {
    using namespace io;
    if (options.skip < 0)
        bad_argument(fmt::format("skip: {}; expected a number of lines, at least 0", options.skip));
    std::string text = format;
    if (options.header) text += fmt::format("{}{}", header_key, *options.header ? "yes" : "no");
    if (options.skip > 0) text += fmt::format("{}{}", skip_key, options.skip);
    if (options.decimal_comma) text += fmt::format("{}comma", decimal_key);
    if (!options.columns.empty()) text += fmt::format("{}{}", columns_key, options.columns);
    return text;
}

}  // namespace kith
