// How many rows fit.
#include "cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kith/error.h"
#include "numbers.h"

namespace kith::cli {
namespace {

// The share of the rest that is for queries and results, and for the workspace of a search on the CPU.
constexpr double query_share = 0.25, workspace_share = 0.25;
// What a point takes besides its elements: the filter's copy, at most f32, with the terms of its bound.
constexpr double filter_element = sizeof(float), filter_terms = 32;
// A neighbour: its id and its key, twice where a result is checked and written.
constexpr double neighbour_bytes = 2 * (sizeof(std::int64_t) + sizeof(double));

struct RowBytes {
    double query, point;
};
RowBytes bytes_of(const RowSizes& sizes) {
    const auto d = static_cast<double>(sizes.cols), k = static_cast<double>(sizes.k + 1);
    return {d * element_bytes(sizes.queries) + k * neighbour_bytes,
            d * (sizes.shards_held * element_bytes(sizes.points) + filter_element) + filter_terms};
}

}  // namespace

double element_bytes(ElementType type) {
    const auto size = static_cast<double>(size_of(type));
    return type == ElementType::i32 || type == ElementType::i64 ? size + sizeof(double) : size;
}

RowCut rows_within(const RowSizes& sizes) {
    const RowBytes bytes = bytes_of(sizes);
    const auto memory = static_cast<double>(sizes.memory - process_bytes),
               most = static_cast<double>(sizes.most_queries);
    const double queries = sizes.fixed_queries ? most : std::min(most, std::floor(memory * query_share / bytes.query));
    const double points = std::floor((memory * (1 - workspace_share) - queries * bytes.query) / bytes.point);
    return {static_cast<std::int64_t>(std::max(0.0, queries)), static_cast<std::int64_t>(std::max(0.0, points)),
            static_cast<std::int64_t>(static_cast<double>(sizes.memory) * workspace_share)};
}

RowCut cut_by_memory(const RowSizes& sizes, const std::string& who) {
    const RowCut cut = rows_within(sizes);
    if (cut.queries > 0 && cut.points > 0) return cut;
    const RowBytes bytes = bytes_of(sizes);
    const double least = static_cast<double>(process_bytes) +
                         (bytes.query + bytes.point) / std::min(query_share, 1 - query_share - workspace_share);
    throw Error(ErrorCode::out_of_memory,
                fmt::format("--memory: {}; {} needs {} at least{}", bytes_text(static_cast<double>(sizes.memory)), who,
                            bytes_text(least), sizes.fixed_queries ? ", and more for blocks of --query-rows" : ""));
}

}  // namespace kith::cli
