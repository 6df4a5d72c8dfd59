// Lines of a file and their cells, as tables in text have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.h"

namespace kith::io {

// Reads lines in large blocks.
class Lines {
public:
    // From `offset` on, which is the start of line `number`, counted from 1.
    explicit Lines(ByteInput& input, std::int64_t offset = 0, std::int64_t number = 1);
    // The next line, without its end; valid until the next call. False at the end of the file.
    // Throws bad_file for a line that is longer than 64 MiB.
    bool next(std::string_view& line);
    // Of the line that next() gave last.
    std::int64_t offset() const { return line_offset_; }
    std::int64_t number() const { return number_ - 1; }

private:
    bool fill();

    ByteInput* input_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;  // what is unread within the buffer
    std::int64_t read_to_;             // where the buffer ends within the file
    std::int64_t number_;              // of the next line
    std::int64_t line_offset_ = 0;
};

// `blanks`: any number of blanks and tabs, also before and after the cells.
enum class Separator : char { comma = ',', semicolon = ';', tab = '\t', blanks = ' ' };

// The separator of a table by one of its lines: the first of semicolon, comma, tab that it has
// outside of quotes; the comma left out where it is that of decimals.
Separator separator_of(std::string_view line, bool decimal_comma);

// Without the blanks around it, a byte order mark and a carriage return.
std::string_view trimmed(std::string_view text);

// The cells of a line, trimmed, one after another; quotes around a cell are taken off.
class Cells {
public:
    Cells(std::string_view line, Separator separator) : rest_(line), separator_(separator) {}
    bool next(std::string_view& cell);
    // Whether what next() gave last stood in quotes.
    bool quoted() const { return quoted_; }

private:
    std::string_view rest_;
    Separator separator_;
    bool done_ = false;
    bool quoted_ = false;
};

// The cells at the end of a line that are empty, without quotes.
std::int64_t empty_at_end(std::string_view line, Separator separator);

std::int64_t count_cells(std::string_view line, Separator separator);

// A cell for messages: in quotes, its first 32 characters, of ASCII alone.
std::string shown(std::string_view cell);

}  // namespace kith::io
