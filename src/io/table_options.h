// Options of a table in text, as the name of a format carries them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/io.h"

namespace kith::io {

// ":header=yes:skip=2:decimal=comma:columns=1-", as table_format() writes it. Throws
// invalid_argument.
TableOptions parse_table_options(const std::string& text);

// Columns side by side: `count` cells from `first` on, counted from 0, which become columns from
// `to` on.
struct ColumnRange {
    std::int64_t first, count, to;
};

// The columns that `list` names ("2-", "1,4-6", "x,y"), of `cells` in a line, by ascending `first`.
// `names`: of the columns, as far as they have some. Throws invalid_argument for a column that is
// not there, or twice there.
std::vector<ColumnRange> parse_columns(const std::string& path, std::string_view list,
                                       std::int64_t cells, const std::vector<std::string>& names);

}  // namespace kith::io
