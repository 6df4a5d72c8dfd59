// Converts matrices of files to points: a search supports no integers of 32 and 64 bits. Part of kith::io; public
// because its jobs and the command line, which sees public headers alone, convert alike (docs/adr/0007).
#pragma once

#include <functional>
#include <string>

#include "kith/export.h"
#include "kith/io.h"

namespace kith {

// The matrix in a form for search(). i32 and i64 become f32 if that holds all values exactly, else f64; other types are
// unchanged. Throws invalid_argument, naming `what`, the row and the column, if f64 does not hold a value;
// out_of_memory; cancelled once `proceed` returns false (empty: never).
KITH_EXPORT Matrix searchable(Matrix matrix, const std::string& what, const std::function<bool()>& proceed = {});

}  // namespace kith
