// What a user's path means: a file, a data set in it, a range of rows.
#pragma once

#include <optional>
#include <string>

#include "io/format.h"

namespace kith::io {

struct SourcePath {
    Location location;
    std::optional<RowRange> rows;
};

// FILE[/DATASET][:FIRST:[COUNT]]. FILE "-" or "/dev/stdin" is standard input. A name that exists as
// it stands is taken as it stands; otherwise FILE is the longest part before a '/' that is a
// regular file. Throws invalid_argument for numbers beyond 2^63.
SourcePath parse_source(const std::string& path);

// "-" or "/dev/stdin" where that is the FILE, else "".
std::string standard_input_of(const std::string& path);

// FILE[/DATASET]: FILE ends before the last '/' that follows a format's suffix and no directory's
// name.
Location parse_target(const std::string& path);

// The format of that name, or where `name` is "" of the file's suffix. Throws invalid_argument with
// the list.
const Format& format_of(const std::string& file, const std::string& name);

// The same of an output, which messages call `what` ("--ids").
const Format& format_to_write(const std::string& what, const std::string& file,
                              const std::string& name);

// The same to read, of a name that may have ".gz" and options of a table behind it: `location` is
// told of them. Throws invalid_argument where the format has none.
const Format& format_to_read(Location& location, const std::string& name);

}  // namespace kith::io
