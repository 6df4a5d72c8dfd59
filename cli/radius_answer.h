// The result of kith radius: how many of each row, and the rows that are printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gaps.h"
#include "kith/csr.h"
#include "kith/kith.h"
#include "streamed.h"

namespace kith::cli {

constexpr std::int64_t printed_columns = 6;

struct RadiusRow {
    std::int64_t count = 0;
    std::vector<std::int64_t> ids;  // the nearest, printed_columns at most
    std::vector<double> distances;
};

struct RadiusAnswer {
    std::vector<std::int64_t> counts;
    std::vector<RadiusRow> first;  // rows to be printed
    Report report;
    std::optional<StreamedReport> streamed;
    Gaps gaps;
};

// Takes rows into `answer` and, unless null, into `csr`.
TakeRadiusRows into(RadiusAnswer& answer, CsrWriter* csr);
// How many, and rows to be printed without their points.
void set_counts(RadiusAnswer& answer, std::vector<std::int64_t> counts);

// A radius of each query, or one of all; see Radius.
struct Radii {
    double all = 0;
    std::vector<double> each;
    bool open = false;
    // For `count` queries from `first` on.
    Radius of(std::int64_t first, std::int64_t count) const;
};

// Points that are not held in memory, whose rows wait next to the file `csr_path` until all shards have been searched.
// only_counts, or without `csr`: no more than is printed is kept.
RadiusAnswer radius_streamed(const StreamedJob& job, const Radii& radii, bool only_counts, CsrWriter* csr,
                             const std::string& csr_path);

}  // namespace kith::cli
