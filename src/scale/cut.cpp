// How many rows fit.
#include "kith/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kith/error.h"
#include "machine/float_state.h"

namespace kith {
namespace {

// The share of the rest that is for queries and results.
constexpr double query_share = 0.25;
// What a point takes besides its elements: the filter's copy, at most f32, with the terms of its
// bound.
constexpr double filter_element = sizeof(float), filter_terms = 32;
// A neighbour: its id and its key, twice where a result is checked and written.
constexpr double neighbour_bytes = 2 * (sizeof(std::int64_t) + sizeof(double));
// The same of results that are handed on as they are: id and distance, as they are found and as
// they are given.
constexpr double plain_neighbour_bytes = sizeof(std::int64_t) + sizeof(float) + sizeof(double);
// The share of what is held that is for the workspace at least.
constexpr double least_workspace_share = 0.125;

struct RowBytes {
    double query, result, point;
};
RowBytes bytes_of(const RowSizes& sizes) {
    const auto d = static_cast<double>(sizes.cols), k = static_cast<double>(sizes.k + 1);
    return {d * sizes.blocks_held * element_bytes(sizes.queries), k * neighbour_bytes,
            d * (sizes.shards_held * element_bytes(sizes.points) + filter_element) + filter_terms};
}

}  // namespace

double element_bytes(ElementType type) {
    const auto size = static_cast<double>(size_of(type));
    return type == ElementType::i32 || type == ElementType::i64 ? size + sizeof(double) : size;
}

std::string bytes_text(double bytes) {
    const machine::FloatState state;
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    if (unit == 0) return fmt::format("{:.0f} B", bytes);
    return bytes >= 99.95   ? fmt::format("{:.0f} {}", bytes, units[unit])
           : bytes >= 9.995 ? fmt::format("{:.1f} {}", bytes, units[unit])
                            : fmt::format("{:.2f} {}", bytes, units[unit]);
}

double held_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries,
                  std::int64_t results) {
    return machine::in_float_state([&] {
        const RowBytes bytes = bytes_of(sizes);
        const double rows = static_cast<double>(points) * bytes.point +
                            static_cast<double>(queries) * bytes.query +
                            static_cast<double>(results) * bytes.result;
        return static_cast<double>(sizes.process) + rows / (1 - workspace_share);
    });
}

double result_bytes(std::int64_t queries, std::int64_t k) {
    return machine::in_float_state([&] {
        return static_cast<double>(queries) * static_cast<double>(k) * plain_neighbour_bytes;
    });
}

double whole_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries,
                   std::int64_t results) {
    return machine::in_float_state([&] {
        const RowBytes bytes = bytes_of(sizes);
        const double rows = static_cast<double>(points) * bytes.point +
                            static_cast<double>(queries) * bytes.query +
                            result_bytes(results, std::max<std::int64_t>(sizes.k, 1));
        return static_cast<double>(sizes.process) + rows * (1 + least_workspace_share);
    });
}

RowCut cut_by_memory(const RowSizes& sizes, const std::string& who) {
    return machine::in_float_state([&] {
        const RowBytes bytes = bytes_of(sizes);
        const double query = bytes.query + bytes.result;
        const auto memory = static_cast<double>(sizes.memory - sizes.process),
                   most = static_cast<double>(sizes.most_queries);
        const double queries =
            sizes.fixed_queries ? most : std::min(most, std::floor(memory * query_share / query));
        const double points =
            std::floor((memory * (1 - workspace_share) - queries * query) / bytes.point);
        if (queries < 1 || points < 1) {
            const double least =
                static_cast<double>(sizes.process) +
                (query + bytes.point) / std::min(query_share, 1 - query_share - workspace_share);
            throw Error(
                ErrorCode::out_of_memory,
                fmt::format("memory: {}; {} needs {} at least{}",
                            bytes_text(static_cast<double>(sizes.memory)), who, bytes_text(least),
                            sizes.fixed_queries ? ", and more for blocks of query_rows" : ""));
        }
        return RowCut{
            static_cast<std::int64_t>(queries), static_cast<std::int64_t>(points),
            static_cast<std::int64_t>(static_cast<double>(sizes.memory) * workspace_share)};
    });
}

}  // namespace kith
