// What a result lacks, and why.
#include "gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "element.h"
#include "print.h"

namespace kith::cli {

namespace {

bool holds_nan(const MatrixView& matrix, std::int64_t row) {
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
        const auto at = static_cast<std::size_t>(row * matrix.stride + j);
        if (std::isnan(load_element(static_cast<const std::byte*>(matrix.data), at, matrix.type))) return true;
    }
    return false;
}

std::string nan_text(const Gaps& gaps, const char* nothing) {
    std::string text;
    if (gaps.nan_queries > 0)
        text += fmt::format("{} NaN and {} {}\n", counted(gaps.nan_queries, "query holds", "queries hold"),
                            gaps.nan_queries == 1 ? "has" : "have", nothing);
    if (gaps.nan_points > 0)
        text += fmt::format("{} NaN and {} in no row\n", counted(gaps.nan_points, "point holds", "points hold"),
                            gaps.nan_points == 1 ? "is" : "are");
    return text;
}

}  // namespace

std::int64_t nan_rows(const MatrixView& matrix) {
    if (is_integer(matrix.type)) return 0;
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < matrix.rows; ++i) rows += holds_nan(matrix, i);
    return rows;
}

Gaps gaps_of(const Neighbors& neighbors, const MatrixView& queries) {
    Gaps gaps;
    for (std::int64_t i = 0; i < neighbors.queries; ++i) {
        const std::int64_t* const row = neighbors.ids.data() + i * neighbors.k;
        // Missing neighbours are the last of their row.
        if (row[neighbors.k - 1] >= 0) continue;
        if (row[0] < 0 && holds_nan(queries, i)) ++gaps.nan_queries;
        else gaps.missing += std::count(row, row + neighbors.k, -1);
    }
    return gaps;
}

std::string gaps_text(const Gaps& gaps, std::int64_t k) {
    std::string text = nan_text(gaps, "no neighbours (id -1)");
    if (gaps.missing > 0) {
        text += fmt::format("{} missing (id -1): fewer than k = {} points could be neighbours\n",
                            counted(gaps.missing, "neighbour is", "neighbours are"), grouped(k));
    }
    return text;
}

std::string radius_gaps_text(const Gaps& gaps) {
    return nan_text(gaps, "nothing within");
}

}  // namespace kith::cli
