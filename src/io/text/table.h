// The structure of a text table: its separator, its rows, and which lines and columns are names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/input.h"
#include "io/text/table_options.h"
#include "io/text/text_lines.h"

namespace kith::io {

// Every lines_per_mark-th line's offset is recorded, so that a range of rows is found without
// reading what precedes it.
constexpr std::int64_t lines_per_mark = 1024;

struct LineMark {
    std::int64_t offset;
    std::int64_t line;  // its number in the file
};

struct Table {
    Separator separator = Separator::comma;
    bool decimal_comma = false;
    // The first line names the columns. Row r is then line r + 1 of those that are not passed over.
    bool header = false;
    std::int64_t rows = 0;
    std::int64_t empty_rows = 0;       // rows that are empty lines, in a table of one column
    std::int64_t cols = 0;             // columns read
    std::vector<ColumnRange> columns;  // their positions
    std::vector<LineMark> marks;       // of the first line and every lines_per_mark-th after it
    std::string remark;                // FileInfo::remark

    // True if a line between the first mark and the last row is not a row.
    bool passes_over(std::string_view line) const;
};

// Properties of a first line, which may be a row or names.
struct FirstLine {
    FirstLine(std::string_view line, Separator separator, bool decimal_comma);

    std::int64_t cells = 0;  // up to the last non-empty one
    // words: some cell is not a number. numbers: some cell is one or begins as one. A wrong cell in
    // a row must not hide the others. A decimal comma, a percent sign or a suffix do not make a
    // number a name.
    bool words = false, numbers = false;
    bool all_quoted = true;
    bool counts = true;     // 0, 1, 2, ..., pandas' default column names
    bool ascending = true;  // ascending integers, such as years
    bool begins_empty = false, begins_with_word = false;
    std::int64_t empty_before = 0;  // empty cells before the first non-empty one
    bool begins_to_count = false;   // with 0 or 1
    // Likewise for the cells beyond the first, if there are any.
    bool rest_numbers = false, rest_counts = false, rest_ascending = false;

    // True if a table of numbers alone that begins with this row may have column or row names.
    // `whole`: all of its numbers are integers.
    bool may_be_names(bool whole) const;
};

// A row (with tabs, all of its cells may be missing); an empty line; or a comment in the form of
// NumPy's savetxt.
enum class LineKind { row, empty, comment };

LineKind line_kind(std::string_view line, Separator separator);

// Reads all lines once. Every row must have as many cells as the first, so the matrix is no larger
// than its text allows. Throws bad_file otherwise, and for ambiguous tables.
Table examine_table(ByteInput& input, const TableOptions& options);

}  // namespace kith::io
