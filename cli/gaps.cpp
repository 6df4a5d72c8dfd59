// The neighbours that a result lacks, and why.
#include "gaps.h"

#include <fmt/format.h>

#include <algorithm>

#include "inputs.h"
#include "print.h"

namespace kith::cli {

namespace {

bool holds_nan(const MatrixView& matrix, std::int64_t row) {
    MatrixView one = matrix;
    one.rows = 1;
    one.data = static_cast<const std::byte*>(matrix.data) +
               row * matrix.stride * static_cast<std::int64_t>(size_of(matrix.type));
    return nan_rows(one) > 0;
}

}  // namespace

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
    if (gaps.missing == 0) return "";
    return fmt::format("{} missing (id -1): fewer than k = {} points could be neighbours\n",
                       counted(gaps.missing, "neighbour is", "neighbours are"), grouped(k));
}

}  // namespace kith::cli
