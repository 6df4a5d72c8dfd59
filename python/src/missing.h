// Rows that hold a NaN: how many there are in an input, and what is done about them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "kith/nan_rows.h"
#include "kith/types.h"
#include "matrix.h"
#include "settings.h"

namespace kith::python {

// A number of rows; none: they were not counted.
using RowCount = std::optional<std::int64_t>;

struct MissingRows {
    RowCount points, queries;
};

// A report, and the rows of the call's arguments that hold a NaN.
struct CountedReport : Report {
    CountedReport(Report&& report = {}, const MissingRows& rows = {}) : Report(std::move(report)), nan(rows) {}
    MissingRows nan;
};

// Counts the rows of a call's argument that hold a NaN: in host memory before the call, by Settings::threads, where
// Ctrl-C ends it; on a device during the call, on its stream.
class NanCount {
public:
    NanCount() = default;  // of no argument
    // Throws a ValueError that calls a matrix of host memory `name` where the caller wants such rows refused.
    NanCount(const Matrix& matrix, const char* name, const Settings& settings);
    // Once, after the call. None: there is no argument, or the caller wants such rows ignored.
    RowCount rows();

private:
    RowCount known_;
    std::optional<NanRows> beside_;
};

}  // namespace kith::python
