// Cuts text into lines and lines into cells.
#include "io/text_lines.h"

#include <algorithm>
#include <cstring>

#include "io/errors.h"

namespace kith::io {
namespace {

constexpr std::size_t block = std::size_t{1} << 20;
constexpr std::size_t longest_line = std::size_t{64} << 20;

constexpr std::string_view blanks = " \t\r";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

Lines::Lines(ByteInput& input, std::int64_t offset, std::int64_t number)
    : input_(&input), read_to_(offset), number_(number) {}

bool Lines::fill() {
    const std::int64_t left = input_->size() - read_to_;
    if (left <= 0) return false;
    const auto unread = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    std::copy(unread, buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (end_ >= longest_line) {
        bad_file(input_->path(),
                 fmt::format("line {} is longer than {} bytes; expected a table in lines", number_,
                             longest_line));
    }
    const auto some =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(block), left));
    if (buffer_.size() < end_ + some)
        buffer_.resize(std::max(end_ + some, std::min(2 * buffer_.size(), longest_line + block)));
    input_->read_at(read_to_, buffer_.data() + end_, static_cast<std::int64_t>(some));
    end_ += some;
    read_to_ += static_cast<std::int64_t>(some);
    return true;
}

bool Lines::next(std::string_view& line) {
    std::size_t searched = 0;
    const char* found = nullptr;
    for (;;) {
        const std::size_t length = end_ - begin_;
        if (length > searched) {
            found = static_cast<const char*>(
                std::memchr(buffer_.data() + begin_ + searched, '\n', length - searched));
        }
        if (found) break;
        searched = length;
        if (fill()) continue;
        if (length == 0) return false;
        break;
    }
    const std::size_t length =
        found ? static_cast<std::size_t>(found - buffer_.data()) - begin_ : end_ - begin_;
    line_offset_ = read_to_ - static_cast<std::int64_t>(end_ - begin_);
    line = {buffer_.data() + begin_, length};
    begin_ += length + (found ? 1 : 0);
    ++number_;
    return true;
}

Separator separator_of(std::string_view line, bool decimal_comma) {
    const std::string_view text = trimmed(line);
    bool comma = false, tab = false, quoted = false;
    for (const char c : text) {
        quoted ^= c == '"';
        if (quoted) continue;
        if (c == ';') return Separator::semicolon;
        comma |= c == ',' && !decimal_comma;
        tab |= c == '\t';
    }
    // One cell behind an empty one.
    tab |= line.starts_with('\t') && text.find(' ') == std::string_view::npos;
    return comma ? Separator::comma : tab ? Separator::tab : Separator::blanks;
}

std::string_view trimmed(std::string_view text) {
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool Cells::next(std::string_view& cell) {
    if (separator_ == Separator::blanks) rest_ = trimmed(rest_);
    if (done_ || (separator_ == Separator::blanks && rest_.empty())) return false;
    // Within a cell that begins with a quote, the separator is text up to the next quote.
    std::size_t from = 0;
    const std::size_t first = rest_.find_first_not_of(' ');
    const bool quote = first != std::string_view::npos && rest_[first] == '"';
    if (quote) {
        from = rest_.find('"', first + 1);
        if (from == std::string_view::npos) from = rest_.size();
    }
    const std::size_t end = separator_ == Separator::blanks
                                ? rest_.find_first_of(blanks, from)
                                : rest_.find(static_cast<char>(separator_), from);
    cell = trimmed(rest_.substr(0, end));
    quoted_ = quote && cell.size() > 1 && cell.back() == '"';
    if (quoted_) cell = trimmed(cell.substr(1, cell.size() - 2));
    done_ = end == std::string_view::npos;
    rest_.remove_prefix(done_ ? rest_.size() : end + 1);
    return true;
}

std::int64_t empty_at_end(std::string_view line, Separator separator) {
    std::int64_t count = 0;
    if (separator == Separator::blanks) return 0;
    if (line.find('"') != std::string_view::npos) {
        // Separators in quotes, which may never be closed, end no cell.
        Cells cells(line, separator);
        for (std::string_view cell; cells.next(cell);)
            count = cell.empty() && !cells.quoted() ? count + 1 : 0;
        return count;
    }
    for (;;) {
        // Not trimmed(): a tab may be the separator.
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
        if (line.empty() || line.back() != static_cast<char>(separator)) return count;
        ++count;
        line.remove_suffix(1);
    }
}

std::int64_t count_cells(std::string_view line, Separator separator) {
    if (separator != Separator::blanks && std::memchr(line.data(), '"', line.size()) == nullptr) {
        return std::count(line.begin(), line.end(), static_cast<char>(separator)) + 1;
    }
    std::int64_t count = 0;
    Cells cells(line, separator);
    for (std::string_view cell; cells.next(cell);) ++count;
    return count;
}

std::string shown(std::string_view cell) {
    std::string text = "\"";
    for (const char c : cell.substr(0, 32)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + '"';
}

}  // namespace kith::io
