// The meaning of a user's path: a file, a data set in it, a range of rows.
#pragma once

#include <optional>
#include <string>

#include "io/format.h"

namespace kith::io {

struct SourcePath {
    Location location;
    std::optional<RowRange> rows;
};

// FILE[/DATASET][:FIRST:[COUNT]]. FILE "-" or "/dev/stdin" is standard input. A path that exists
// verbatim is used verbatim; otherwise FILE is the longest part before a '/' that is a regular
// file. Throws invalid_argument for numbers beyond 2^63.
SourcePath parse_source(const std::string& path);

// "-" or "/dev/stdin" if that is the FILE, else "".
std::string standard_input_of(const std::string& path);

// FILE[/DATASET]: FILE ends before the last '/' that follows a format's suffix and is not part of a
// directory's name.
Location parse_target(const std::string& path);

// The format with that name or, if `name` is "", with the file's suffix. Throws invalid_argument
// with the list.
const Format& format_of(const std::string& file, const std::string& name);

// Likewise for an output, which messages call `what` ("--ids").
const Format& format_to_write(const std::string& what, const std::string& file,
                              const std::string& name);

// Likewise for reading. ".gz" and table options may follow the name; they are stored in `location`.
// Throws invalid_argument if the format does not support them.
const Format& format_to_read(Location& location, const std::string& name);

}  // namespace kith::io
