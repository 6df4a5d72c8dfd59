// What a table in text is: its separator, its rows, and which of its lines and columns are names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/input.h"
#include "io/table_options.h"
#include "io/text_lines.h"

namespace kith::io {

// The offset of a line is remembered for every so many lines, so that a range of rows is found
// without reading what is before.
constexpr std::int64_t lines_per_mark = 1024;

struct LineMark {
    std::int64_t offset;
    std::int64_t line;  // its number in the file
};

struct Table {
    Separator separator = Separator::comma;
    bool decimal_comma = false;
    bool header = false;  // the first line names the columns: row r is line r + 1 of those that are
                          // not passed over
    std::int64_t rows = 0;
    std::int64_t empty_rows = 0;  // of them, of a table of one column: empty lines above others
    std::int64_t cols = 0;        // that are read
    std::vector<ColumnRange> columns;  // where they are
    std::vector<LineMark> marks;       // of the first line and every lines_per_mark after it
    std::string remark;                // FileInfo::remark

    // Whether a line below the first mark, and above the last row, is no row.
    bool passes_over(std::string_view line) const;
};

// What a first line may be: a row, or names.
struct FirstLine {
    FirstLine(std::string_view line, Separator separator, bool decimal_comma);

    std::int64_t cells = 0;  // up to the last that is not empty
    // Whether there is a cell that is no number, and one that is one or begins as one: a wrong cell
    // in a row must not hide the others, and a decimal comma, a sign of percent or a suffix make no
    // name of a number.
    bool words = false, numbers = false;
    bool all_quoted = true;
    bool counts = true;     // 0, 1, 2, ..., as pandas names columns that have no names
    bool ascending = true;  // whole numbers, as years are
    bool begins_empty = false, begins_with_word = false;
    std::int64_t empty_before = 0;  // cells without text before the first with some
    bool begins_to_count = false;   // with 0 or 1
    // The same of the cells beyond the first, where there are some.
    bool rest_numbers = false, rest_counts = false, rest_ascending = false;

    // Whether a table of numbers alone that begins with this row may be taken for one with names of
    // columns or rows. `whole`: all of its numbers are whole.
    bool may_be_names(bool whole) const;
};

// A row, of which all may be missing where tabs separate the cells; nothing; or a comment as
// NumPy's savetxt writes it.
enum class LineKind { row, empty, comment };

LineKind line_kind(std::string_view line, Separator separator);

// Reads all lines once: every row has as many cells as the first, so that the matrix is no larger
// than its text allows. Throws bad_file for other tables, and for one that may be read in two ways.
Table examine_table(ByteInput& input, const TableOptions& options);

}  // namespace kith::io
