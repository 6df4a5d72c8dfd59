// Rows that hold a NaN: how many there are in an input, and what is done about them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "kith/types.h"
#include "matrix.h"
#include "settings.h"

namespace kith::python {

// How many rows hold a NaN; none: they were not counted.
using NanRows = std::optional<std::int64_t>;

struct MissingRows {
    NanRows points, queries;
};

// A report, and the rows of the call's arguments that hold a NaN.
struct CountedReport : Report {
    CountedReport(Report&& report = {}, const MissingRows& rows = {}) : Report(std::move(report)), nan(rows) {}
    MissingRows nan;
};

// Reads a matrix in host memory once, by Settings::threads; Ctrl-C ends it. None: the matrix lies on a device, or the
// caller wants such rows ignored. Throws a ValueError that calls the matrix `name` where the caller wants them refused.
NanRows nan_rows(const Matrix& matrix, const char* name, const Settings& settings);

}  // namespace kith::python
