// Options of a text table, in the syntax of a format name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/io.h"

namespace kith::io {

// Parses ":header=yes:skip=2:decimal=comma:columns=1-", as written by table_format(). Throws
// invalid_argument.
TableOptions parse_table_options(const std::string& text);

// Adjacent columns: `count` cells from `first` on, counted from 0, which become columns from `to`
// on.
struct ColumnRange {
    std::int64_t first, count, to;
};

// The columns that `list` names ("2-", "1,4-6", "x,y") out of `cells` in a line, by ascending
// `first`. `names`: the columns' names, if any. Throws invalid_argument for a missing or repeated
// column.
std::vector<ColumnRange> parse_columns(const std::string& path, std::string_view list,
                                       std::int64_t cells, const std::vector<std::string>& names);

}  // namespace kith::io
