// What a result lacks, and why.
#include "gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "element.h"
#include "print.h"

namespace kith::cli {

Gaps gaps_of(const Neighbors& neighbors, const MatrixView& queries) {
    const auto holds_nan = [&](std::int64_t row) {
        for (std::int64_t j = 0; j < queries.cols; ++j) {
            const auto at = static_cast<std::size_t>(row * queries.stride + j);
            if (std::isnan(load_element(static_cast<const std::byte*>(queries.data), at, queries.type))) return true;
        }
        return false;
    };
    Gaps gaps;
    for (std::int64_t i = 0; i < neighbors.queries; ++i) {
        const std::int64_t* const row = neighbors.ids.data() + i * neighbors.k;
        // Missing neighbours are the last of their row.
        if (row[neighbors.k - 1] >= 0) continue;
        if (row[0] < 0 && holds_nan(i)) ++gaps.nan_queries;
        else gaps.missing += std::count(row, row + neighbors.k, -1);
    }
    return gaps;
}

std::string gaps_text(const Gaps& gaps, std::int64_t k) {
    std::string text;
    if (gaps.nan_queries > 0) {
        text += fmt::format("{} NaN and {} no neighbours (id -1)\n",
                            counted(gaps.nan_queries, "query holds", "queries hold"),
                            gaps.nan_queries == 1 ? "has" : "have");
    }
    if (gaps.missing > 0) {
        text += fmt::format("{} missing (id -1): fewer than k = {} points could be neighbours\n",
                            counted(gaps.missing, "neighbour is", "neighbours are"), grouped(k));
    }
    return text;
}

}  // namespace kith::cli
