// Matrices of files as points: a search takes no integers of 32 and 64 bits. Of kith::io; public because its jobs and
// the command line, which sees public headers alone, convert alike (docs/adr/0007).
#pragma once

#include <functional>
#include <string>

#include "kith/export.h"
#include "kith/io.h"

namespace kith {

// The matrix as search() takes it: of i32 and i64 in f32 where that holds each of its values, else in f64, any other as
// it is. Throws invalid_argument, naming `what`, the row and the column, where f64 does not hold a value;
// out_of_memory; cancelled once `proceed` returns false (empty: never).
KITH_EXPORT Matrix searchable(Matrix matrix, const std::string& what, const std::function<bool()>& proceed = {});

}  // namespace kith
