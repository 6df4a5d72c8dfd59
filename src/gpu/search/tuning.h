// Tuning numbers of the search and the device memory of its tiles. Plain host code: the planner and
// the run use the same functions, so a plan's workspace is what the run allocates.
//
// The searches of lab/*-fused-filter ran with these (one NVIDIA H100 80GB HBM3, 2026-11-21,
// `kith-bench search
// --goals`); they are a budget's share or keep a search responsive, and others have not been
// recorded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/filter/dense/value_groups.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/tuning.h"
#include "gpu/search/passes/projected_tuning.h"
#include "gpu/select/streaming/tuning.h"
#include "kith/plan.h"
#include "strategy/facts.h"

namespace kith::gpu::tuning {

// The most queries without a certificate that go through the filter once more at a time; see
// retry_step.
inline constexpr std::int64_t retry_queries = 1024;
// From this many queries on, a finer filter is cheaper than a scan for queries that one fp16 term
// cannot certify: two terms, or the metric itself (`direct`). Reasoned: on an NVIDIA H200
// (2026-11-22, cityblock, d 128, n 1,048,576) the full scan of 32 queries takes 4.7 ms, and as long
// for fewer, which fill no tile; preparing the points with one term takes 1.9 ms. After a coarse
// form one query suffices: the f32 words then serve later searches, too.
inline constexpr std::int64_t finer_queries(bool direct, bool after_coarse) {
    return after_coarse ? 1 : direct ? 16 : 32;
}
// From this many queries without a certificate on, duplicate rows are looked for. Reasoned, not
// timed: that reads the points and sorts their hashes, which costs about as much as a full scan of
// a few queries.
inline constexpr std::int64_t repeats_queries = 4;
// The most bytes, of others and whole rows together, of a graph's rows with their own points that
// are made on a GPU. Reasoned: a fortieth of an H200's memory, which a search plans with.
inline constexpr std::int64_t own_rows_bytes = std::int64_t{4} << 30;
// The number of candidates per neighbour that is ordinary. Duplicate rows are also looked for once
// this share of n more candidates were wasted, over all searches of the points. NVIDIA H200,
// 2026-11-22, n 1,048,576, q 1,024, k 10: a wasted candidate took 1 to 6 ns (`kith-bench search
// --ordinary`, prices, one-hot and Gaussian data). Counting is reasoned to take 1 ns per row.
inline constexpr double ordinary_candidates = 4, needless_share = 0.25;
// True if the direct filter's coarse form is too coarse, so that later tiles begin with f32 words.
// Either a quarter of `queries` was left without a certificate: reasoned, as the int8 form takes
// less than half of the time of f32. Or the wasted candidates took longer than f32 would: on an
// NVIDIA H200, 2026-11-22, n 131,072, q 4,096, d 128, 400 of them per query took about 1 ns each
// (4.0 ms in all), and f32 6 ms. Fewer than misled_queries decide nothing.
inline constexpr std::int64_t misled_queries = 64;
inline bool misled_by_queries(std::int64_t queries, std::int64_t left) {
    return queries >= misled_queries && 4 * left > queries;
}
inline bool misled_by_candidates(std::int64_t queries, std::int64_t points, std::int64_t d,
                                 double needless) {
    constexpr double per_coordinate = 1.0 / 18000;
    const double coordinates =
        static_cast<double>(queries) * static_cast<double>(points) * static_cast<double>(d);
    return queries >= misled_queries && needless > per_coordinate * coordinates;
}
// Queries that share one pass over streamed points: as many whole tiles, with their lists, as a
// quarter of the workspace holds, but at least one.
inline std::int64_t queries_of_pass(const Plan& plan, std::int64_t tile, std::int64_t k,
                                    std::int64_t d, ElementType type) {
    const std::int64_t row_bytes = k * 32 + d * static_cast<std::int64_t>(size_of(type));
    return tile *
           std::max<std::int64_t>(
               1, std::max(plan.workspace_bytes / 4, std::int64_t{16} << 20) / row_bytes / tile);
}
// Up to roomy_points points, lists have room for all points from the start, if those of all queries
// hold at most roomy_lists candidates (200 MB with ids). The host then need not wait for the
// samples' lengths of lists. NVIDIA H100, 2026-11-26, 4,096 queries and points, d 128: 0.16 ms, of
// which kernels take 0.11.
inline constexpr std::int64_t roomy_points = 4096, roomy_lists = 1 << 24;
// The range_growth of a full-dimensional pass, whose candidates are appended at once. A tile of
// products waits for the warp with the most candidates. NVIDIA H100, 2026-11-26, n 1,048,576, q
// 8,192, k 10, with one, two, three and five ranges after the samples: d 16 2.12, 1.84, 1.85 and
// 2.06 ms; d 128 3.78, 3.71, 3.68 and 3.82. With a quarter of the pairs several ranges took up to 5
// % longer.
inline std::int64_t filter_range_growth(std::int64_t q, std::int64_t n) {
    constexpr double many_pairs = 0x1p32;
    return static_cast<double>(q) * static_cast<double>(n) < many_pairs ? n : 4;
}
// From this many pairs on, a formula has a filter. Reasoned: compiling its kernels takes some
// tenths of a second, in which 2^30 pairs of 128 dimensions would be scanned; later searches of the
// process have them.
inline constexpr double filtered_formula_pairs = 0x1p24;
// Queries and points per tile of the canonical scan, in binary64.
inline constexpr std::int64_t exact_query_tile = 2048;
inline constexpr std::int64_t exact_point_tile = 1 << 16;
// Up to this many queries a full scan reads the points' own rows once for each of them.
inline constexpr std::int64_t row_scan_queries = 8;

// Strategies that compare fewer points, or fewer coordinates, serve at most n /
// least_points_per_neighbour neighbours.
inline constexpr std::int64_t least_points_per_neighbour = 64;
// The most neighbours of a tree search.
inline constexpr std::int64_t most_tree_k = 128;
// The pilot queries of a tree search. If there are fewer queries in all, each may visit at most
// tree_leaves_of_few leaves, one after the other. Reasoned: a visit takes a microsecond, in which a
// filter reads 16 M points.
inline constexpr std::int64_t tree_pilots = 256;
inline constexpr std::uint32_t tree_leaves_of_few = 2048;
// A filter, by the direct form or by products, is as fast if a query of a tree looks at this many
// points on average. NVIDIA H200, 2026-11-23, uniform points, d 8: trees look at about 100 G
// points/s, the filters compare about 1,000 and 3,300 G/s.
inline double tree_points(std::int64_t n, std::int64_t k, bool direct) {
    return std::max(static_cast<double>(n) / (direct ? 16 : 40), 1024 + 8 * static_cast<double>(k));
}
// True if there are enough points that uniform ones stay below tree_points, about. tree_pairs: the
// pairs of a search that repay making the tree, which takes 2.5 ns per point on that GPU, and 1 ms
// for few points.
inline bool tree_leaves_out(std::int64_t n, std::int64_t d, bool direct) {
    return n >> (direct ? 12 + d / 2 : 13 + 3 * d / 4) > 0;
}
inline double tree_pairs(std::int64_t n, bool direct) {
    return direct ? 0x1p30 + 0x1p12 * static_cast<double>(n)
                  : 0x1p31 + 0x1p13 * static_cast<double>(n);
}
// The points that queries look at between two polls of the caller, and the queries of such a step,
// each expected to look at `points`. Reasoned: some tenths of a second at the rate above, and at
// least 10 M queries per second with few neighbours. Fewer than 1,024 queries leave the device
// idle, and take as long as one.
inline double tree_step_points(std::int64_t d) {
    return 0x1p35 * 8 / static_cast<double>(std::max<std::int64_t>(d, 8));
}
inline std::int64_t tree_step(double points, std::int64_t d, std::int64_t k) {
    const double most = k <= 32 ? 0x1p21 : 0x1p19;
    return static_cast<std::int64_t>(
        std::clamp(tree_step_points(d) / std::max(points, 1.0), 0x1p10, most));
}
// The path whose tiles a tree's plan has; it answers queries that look at too many points.
inline Path behind_tree(const Plan& plan) {
    return !plan.isa.empty()       ? Path::gemm_f16
           : plan.selector.empty() ? Path::direct_f32
                                   : Path::exact;
}

// ---- device memory of a tile: the planner and the run agree through these functions

// True for paths with full-dimensional products, whose vectors may be augmented.
constexpr bool takes_all_coordinates(Path path) {
    return takes_products(path) && path != Path::projected;
}

// Bytes of the bias columns of an int8 row: one plane, two planes and four (filter/bytes.h).
inline constexpr int byte_term_bytes = 16 + 32 + 64;

// The most bytes of a row's vectors for the filter of a path: halves, or words of the direct
// filter.
inline double vector_bytes(Path path, std::int64_t d) {
    if (path == Path::exact) return 0;
    // With a PCA projection, its terms and stage rows, or with int8 and its terms, whichever is
    // larger.
    if (may_project(path)) {
        const auto width = static_cast<double>(filter_width(d, 1)),
                   bytes = width + 16 + byte_term_bytes,
                   directions = path == Path::projected ? 2.0 * (most_directions + 1) + 16 +
                                                              further_bytes(filter_width(d, 1))
                                                        : 0;
        return 2 * width + std::max(bytes, directions) + 8;
    }
    // Rows of bits are padded to runs of four words.
    const std::int64_t words = (d + 3) / 4 * 4;
    return path == Path::direct_f32 ? 4.0 * static_cast<double>(words)
                                    : 2.0 * static_cast<double>(filter_width(d, 1));
}

// Bytes of a finer filter of n points beyond the plan. If the path's own form is coarse, with this
// many words per row, the plan includes the f32 words.
inline double finer_bytes(bool direct, std::int64_t coarse_words, std::int64_t n, std::int64_t d) {
    const double row =
        direct ? vector_bytes(Path::direct_f32, d) : 2.0 * static_cast<double>(filter_width(d, 2));
    return static_cast<double>(n) *
           (coarse_words > 0 ? 4.0 * static_cast<double>(coarse_words) : row);
}

// Range search of points in clusters: bytes of a one-term filter in the points' own order, in
// addition to the filter in the clusters' order. It is made if it takes at most half of the
// workspace; the planner then includes it there.
inline double spread_bytes(std::int64_t n, std::int64_t d) {
    return static_cast<double>(n) * (vector_bytes(Path::gemm_f16, d) + 8);
}

// Prepared points: the elements (unless they are the caller's) and, for the filter, vectors.
inline double point_bytes(std::int64_t d, std::int64_t element, Path path, bool copied) {
    // Clusters: the order of the points, and their rows by cluster. Cells likewise, with leading
    // coordinates.
    const double ordered = path == Path::clustered   ? 8
                           : path == Path::projected ? 4 + 4 * cell_directions
                                                     : 0;
    return ordered + (copied ? static_cast<double>(d * element) : 0) + vector_bytes(path, d) +
           (path == Path::exact ? 0 : 8) + 17;
}

// Device bytes per host-resident point: vector, half norm, error and NaN flag, and the auxiliary
// values of metrics that have them.
inline double host_point_bytes(std::int64_t d, Path path, bool has_aux) {
    // Int8 vectors are padded to runs of 32, and have half norms of their own.
    const std::int64_t numbers = (d + 31) / 32 * 32, half_norm = 4;
    const double vector =
        path == Path::gemm_i8 ? static_cast<double>(numbers + half_norm) : vector_bytes(path, d);
    return vector + 8 + 1 + (has_aux ? 16 : 0);
}
// Further device bytes if only the int8 form is there, for any number of points: the vectors of the
// first sample, and the rows that are made at a time.
inline double listed_bytes(std::int64_t d, std::int64_t element) {
    const std::int64_t width = filter_width(d, 1), rows = listed_rows(width) + listed_pairs;
    return static_cast<double>(listed_sample * 2 * width) +
           static_cast<double>(rows) * static_cast<double>(2 * width + d * element + 40);
}
// The least tile that must have room in addition. Few queries read all vectors as often as many do.
inline constexpr std::int64_t host_points_queries = 256, host_points_k = 100;
// Int8 alone is kept for at least this many points, of which the sample with fp16 vectors is at
// most a quarter, and for at least this many coordinates, a whole run. Queries that it leaves
// stream the points in chunks, for which this many points must have room. Reasoned.
inline constexpr std::int64_t least_listed_points = 1 << 17, least_listed_dimensions = 32,
                              listed_chunk = 1 << 16;

// Bytes of a tile of queries, however it is searched: elements, auxiliary values, results.
inline double query_bytes(std::int64_t q, std::int64_t d, std::int64_t element, std::int64_t k) {
    return static_cast<double>(q) *
           (static_cast<double>(d * element) + 32 + static_cast<double>(k) * (12 + 32 + 8));
}

// Bytes of a tree of n points while it is made: includes the mapped coordinates and the memory of
// the sort.
inline double tree_bytes(std::int64_t n, std::int64_t d) {
    return static_cast<double>(n) * (29.0 * static_cast<double>(d) + 80) +
           (1 << 16) * static_cast<double>(d + 1);
}
// Bytes per query of a tree: coordinates, original and mapped (twice), the memory of the sort, and
// results.
inline double tree_query_bytes(std::int64_t d, std::int64_t element, std::int64_t k) {
    return static_cast<double>(d * (element + 16)) + 64 + 24 * static_cast<double>(k);
}
// The number of the q queries that fit into this many bytes. If a graph's queries all fit together,
// they need no coordinates.
inline std::int64_t tree_tile(double bytes, std::int64_t q, std::int64_t d, ElementType type,
                              std::int64_t k, bool graph) {
    if (graph && tree_query_bytes(0, 0, k) * static_cast<double>(q) <= bytes) return q;
    const double each = tree_query_bytes(d, static_cast<std::int64_t>(size_of(type)), k);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes / each), 1,
                                    std::max<std::int64_t>(q, 1));
}

// Bytes of a metric's matrix; of its factor, with the coordinates that are made with it.
inline double matrix_bytes(std::int64_t d) {
    return 8 * static_cast<double>(d) * static_cast<double>(d);
}
inline double factor_bytes(std::int64_t rows, std::int64_t d) {
    return matrix_bytes(d) + 8 * static_cast<double>(d) *
                                 (static_cast<double>(std::min(rows + 256, factored_rows(d))) + 1);
}

inline double scan_bytes(std::int64_t q, std::int64_t points, std::int64_t d, std::int64_t k,
                         int multiprocessors) {
    return 8.0 * static_cast<double>(q) * static_cast<double>(points) +
           8.0 * static_cast<double>(d * (q + points)) +
           selection_bytes(q, k, points, 12, multiprocessors);
}

// Bytes of an entry of a candidate list: value and position (later id and key), and CUB's memory if
// it sorts the list.
inline double entry_bytes(std::int64_t capacity) {
    return capacity > sort_in_shared ? 12 + 30 : 12;
}

// Bytes that lists take beyond their own when they grow from `base` to `capacity`; during the copy
// both exist.
inline double growth_bytes(std::int64_t base, std::int64_t capacity, std::int64_t queries) {
    if (capacity <= base) return 0;
    const double now = static_cast<double>(capacity), before = static_cast<double>(base);
    const double largest = std::max(entry_bytes(capacity) * now, 8 * (now + before));
    return static_cast<double>(queries) * std::max(0.0, largest - entry_bytes(base) * before);
}

// The capacity to which lists of `queries` may grow within `spare` bytes.
inline std::int64_t grown_capacity(std::int64_t base, std::int64_t queries, double spare) {
    // A search takes only the memory that it needs, but other programs may want theirs.
    const double most = std::min(spare, std::max(4.0 * (1 << 30), spare / 2));
    for (std::int64_t capacity = max_candidates; capacity > base; capacity -= 64)
        if (growth_bytes(base, capacity, queries) <= most) return capacity;
    return base;
}

// Bytes of queries in clusters: values with the centres, for some queries at a time; per
// listed_queries, lists of clusters and tiles; vectors for their order, and queries and results in
// that order; coordinates that thresholds are made of (ball_thresholds).
inline double clustered_bytes(std::int64_t q, std::int64_t n, std::int64_t d, std::int64_t k) {
    const auto centres = static_cast<double>(centres_of(n)), queries = static_cast<double>(q);
    const double lists = queries / listed_queries + 1;
    return 4 * centres * static_cast<double>(std::min(q, dense_queries)) +
           8 * std::min(queries * static_cast<double>(d), 0x1p21) +
           lists * (centres + 4 * static_cast<double>(n) / filter_tile_points + 8) +
           queries * (vector_bytes(Path::gemm_f16, d) + 8.0 * static_cast<double>(d) +
                      12.0 * static_cast<double>(k) + 48);
}

// Bytes of queries that are compared cell by cell: per cell a distance and a bit; gathered rows,
// their terms, thresholds and tiles.
inline double cell_bytes(std::int64_t q, std::int64_t n) {
    const auto queries = static_cast<double>(std::min(q, most_step_queries));
    const auto cells = std::ceil(static_cast<double>(n) / static_cast<double>(cell_points(n)));
    return n < least_cells * least_cell_points
               ? 0
               : queries * (4.25 * cells + 4 * cell_directions + 32) + 1.5 * gathered_bytes;
}

inline double filter_bytes(Path path, std::int64_t q, std::int64_t n, std::int64_t d,
                           std::int64_t k, int multiprocessors) {
    const auto tile = [&](std::int64_t queries, std::int64_t capacity, std::int64_t dense) {
        // Candidates; values of the first sample; a query's vectors, terms and flags.
        return static_cast<double>(queries) *
               (entry_bytes(capacity) * static_cast<double>(capacity) +
                4.0 * static_cast<double>(dense) *
                    std::min(1.0,
                             static_cast<double>(dense_queries) / static_cast<double>(queries)) +
                vector_bytes(path, d) + 24);
    };
    // The last tile of a search may be smaller, and few queries have other levels.
    double most = std::max(tile(1, max_candidates, 0), scan_bytes(1, 64, d, k, multiprocessors));
    for (const std::int64_t queries :
         {q, std::min(q, few_queries), std::min<std::int64_t>(q, 16)}) {
        const FilterLevels levels = filter_levels(n, queries, k + 1);
        most =
            std::max(most, tile(queries, levels.capacity, levels.sample[0] + filter_tile_points));
    }
    if (may_project(path))
        most +=
            static_cast<double>(std::min(q, most_step_queries)) *
                (8.0 * static_cast<double>(projected_room) + 4 + 8) +
            4.0 * static_cast<double>(left_room(std::min(q, most_step_queries))) +
            static_cast<double>(q) *
                (further_query_bytes(filter_width(d, 1)) - further_bytes(filter_width(d, 1))) +
            std::max(32.0 * most_turned_width * most_turned_width, kept_bytes(filter_width(d, 1))) +
            static_cast<double>(std::min<std::int64_t>(
                std::max(q, n) * (8 * most_turned_width + 3 * d), projected_bytes));
    if (path == Path::projected) most += cell_bytes(q, n);
    // Bias columns of points and queries, and their errors.
    if (takes_all_coordinates(path))
        most += 16.0 * static_cast<double>(whole_tiles(n)) +
                20.0 * static_cast<double>(whole_query_tiles(q));
    if (path == Path::clustered) most += clustered_bytes(q, n, d, k);
    // Panels of the direct filter are padded, for points and for queries.
    return most + (1 << 20) + (path == Path::direct_f32 ? 2 * 256 * vector_bytes(path, d) : 0);
}

// Range search: the candidates of a query that a range of the points may leave. They take half of
// the workspace. More than 2^26 in all would be no faster: reasoned, as a range has some thousand
// points at least.
inline std::int64_t radius_capacity(double workspace, std::int64_t q, std::int64_t n, bool asks) {
    constexpr double entry = 12, reported = 8, most_entries = 0x1p26, most = 0x1p16;
    const double queries = static_cast<double>(q);
    const double room =
        std::min({workspace / 2 / (queries * (asks ? entry + reported : entry)),
                  most_entries / queries, most, static_cast<double>(whole_tiles(n))});
    return std::max(static_cast<std::int64_t>(room) / filter_tile_points * filter_tile_points,
                    filter_tile_points);
}
// The pairs that a query may rescore in vain before it is left to the next filter. Rescoring a pair
// takes 1 to 6 ns (above), scanning one 0.15.
inline std::int64_t most_needless(std::int64_t n) {
    return n / 16 + 1024;
}
// Entries of the rows that are made at a time, in a quarter of the workspace: found, placed, sorted
// out of place, reported.
inline std::int64_t radius_entries(double workspace) {
    constexpr double entry = 12 + 2 * 16 + 8;
    return std::max<std::int64_t>(static_cast<std::int64_t>(workspace / 4 / entry), 4096);
}

// Bytes of a dense pass beyond the tile: values, the least values of groups, candidates.
inline double value_pass_bytes(std::int64_t q, std::int64_t n, int multiprocessors) {
    const auto groups = static_cast<double>(value_groups(n, multiprocessors));
    return static_cast<double>(q) *
           (4.125 * static_cast<double>(whole_tiles(n)) + 12.0 * groups +
            entry_bytes(value_candidates) * static_cast<double>(value_candidates));
}

// Queries that can be retried at a time within this many bytes.
inline std::int64_t retry_step(double bytes) {
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(
            bytes / (entry_bytes(max_candidates) * static_cast<double>(max_candidates))),
        1, retry_queries);
}

// The tile of the canonical scan of `queries` queries that filters leave, within `bytes` bytes.
inline strategy::Tile rescan_tile(double bytes, std::int64_t queries, std::int64_t d,
                                  std::int64_t k, int multiprocessors) {
    constexpr std::int64_t least_points = 64, points_per_query = 8;
    strategy::Tile tile{std::clamp<std::int64_t>(queries, 1, exact_query_tile), exact_point_tile};
    while (scan_bytes(tile.queries, tile.points, d, k, multiprocessors) > bytes &&
           (tile.queries > 1 || tile.points > least_points)) {
        const bool wide =
            tile.points > least_points && tile.points > points_per_query * tile.queries;
        if (wide || tile.queries == 1) tile.points /= 2;
        else tile.queries /= 2;
    }
    return tile;
}

}  // namespace kith::gpu::tuning
