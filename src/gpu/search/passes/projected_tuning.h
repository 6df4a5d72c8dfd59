// Tuning numbers of passes over PCA projections or int8, and of the rescoring of their candidates:
// ranges, stages, rows. Plain host code, like tuning.h, which counts the memory that they take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/filter/levels.h"
#include "gpu/filter/pca/further.h"
#include "gpu/points/tuning.h"

namespace kith::gpu::tuning {

// projected_room: candidates per query. most_step_queries: queries that have room for them at a
// time (960 MiB); sets of images and of vectors have 10,000 queries. projected_pilots: queries of a
// trial. A range has at most a few times as many points as come before it, and leaves a mean query
// 1 / room_share of the room, since queries of images differ by as much. NVIDIA H100, 2026-11-23, n
// 1,048,576, q 8,192, d 768 with deviations i^-0.7, 255 components, k 10 and 100: 797 and 524 G/s;
// with ranges of three times the points before 745 and 495. With 127 components five times as many
// points pass: a room of 4,096 and a share of 8 took 45 ms, a share of 64 took 13. 10,000 images, k
// 10: 17.1 ms in steps of 8,192 and 1,808 queries, 19.6 in steps of 4,096; on 2026-11-27 8.5 in
// steps of 5,120 and, with stages in f32, 8.0 in one step.
inline constexpr std::int64_t projected_room = 12288, most_step_queries = 10240,
                              projected_pilots = 256;
inline constexpr std::int64_t least_range = 4096;  // points
// The most neighbours at which few candidates of a range are left for rescoring.
inline constexpr std::int64_t few_kept = 16;
// The divisor of the room of a mean query. The trial's share of candidates is closer to the truth
// for many neighbours; with few neighbours half as many points pass as with 128. NVIDIA H100,
// 2026-11-27, d 1,536 with deviations i^-0.7, k 10: 9.92 ms with a share of 32, 9.67 with 16, 9.71
// with 11; k 100: 18.8, 18.6, 18.5. These figures are of a room of 8,192, whose 16th is a 24th of
// 12,288.
inline double room_share(std::int64_t n, std::int64_t k) {
    const double neighbours = expected_neighbours(n);
    return (neighbours > 64 && k <= few_kept ? 3072 : 6144) / neighbours;
}
// Points in cells (filter/cells.h): bytes of query rows that are gathered at a time, and the number
// of parts in which a query's cells are searched; each part may fill the room for candidates.
inline constexpr std::int64_t gathered_bytes = std::int64_t{1} << 28;
inline std::int64_t cell_parts(std::int64_t k) {
    return k <= few_kept ? 2 : 3;
}
// Stages that are used, for rows of `width` halves. With few neighbours, the first stage leaves few
// rows, and reading them takes no longer than a second stage. NVIDIA H100, 2026-11-27, int8, k 10
// and 100: d 768 7.24 and 11.2 ms with one stage, 7.31 and 10.9 with two; d 1,536 12.2 and 21.8,
// 11.1 and 18.6. A million images, d 784, int4, several machines, k 10: 8.2 with two, 8.0 to 8.1
// with one.
inline constexpr int stages_of(int stages, std::int64_t width, std::int64_t k) {
    return k <= few_kept && width <= 1024 ? std::min(stages, 1) : stages;
}
// Points per block of rows, of row_bytes bytes each, for rescoring block by block: all queries of a
// step read a block before the next (`reread.h`). 0: best-first, by the bounds of a query's
// candidates. Half of the L2 cache holds a block. Best-first reads fewer rows for few neighbours,
// and for ranges that the L2 cache nearly holds. But few queries then have one thread block each,
// which does not fill the device. For each block of rows a query's candidates are read again, which
// costs little to a row's. NVIDIA H100, 2026-11-28, n 1,048,576, deviations i^-0.7, ms best-first
// and by blocks: q 8,192, d 1,536, k 16 10.6 and 11.1, k 32 12.9 and 12.5, k 100 18.4 and 16.6; d
// 768, k 64 9.36 and 9.45, k 100 10.6 and 10.3; q 512, k 10 1.39 and 1.21, 0.96 and 0.83.
inline std::int64_t part_points(std::int64_t q, std::int64_t k, std::int64_t range,
                                std::int64_t row_bytes, std::int64_t cache_bytes) {
    constexpr std::int64_t many_bytes = 3 << 15, least = 1024, parts = 8;
    const std::int64_t fit = cache_bytes / 2 / row_bytes, part = std::min(fit, range / parts),
                       looked_at = range * 4 * 8 / row_bytes;
    if (q < queries_of_most_shares) return 0;
    if (q < filling_queries) return std::max({part, looked_at, least});
    return k * row_bytes >= many_bytes && range > 4 * fit && looked_at <= part ? part : 0;
}
// The points of a range, in multiples of the points before it. Few queries are bound by reading the
// points, and by the launches of each range. Int8 of all coordinates leaves fewer points to rescore
// than a projection. NVIDIA H100, 2026-11-24, Gaussian points, k 10: d 256 4.79, 4.63 and 4.62 ms
// with a growth of 1, 2 and 4; d 768 11.15, 11.18 and 12.06. PCA projection, 2026-11-27, best-first
// rescoring, d 768 and 1,536 with deviations i^-0.7, growth 1, 2 and 3: k 10 6.93 and 9.99, 6.81
// and 9.80, 6.86 and 9.95; k 100 10.5 and 18.3, 10.5 and 18.3, 10.6 and 18.7, on another machine
// 10.7 and 18.4, 10.8 and 18.8.
inline std::int64_t range_growth(std::int64_t q, bool all_coordinates, std::int64_t k) {
    return q <= few_queries ? 15 : all_coordinates || k <= few_kept ? 2 : 1;
}
// For many neighbours a range has at most a quarter of the points. With halves, 3 of 10,000 image
// queries among a million images, 100 neighbours, had candidates beyond the room, and were searched
// by all coordinates: 12.5 to 12.8 ms, with quarters 11.8 to 12.0.
inline std::int64_t longest_range(std::int64_t n, std::int64_t k) {
    return k > 64 ? (n + 3) / 4 : n;
}
// The end of the range that begins with point `seen`: about `most` points later, or n if few would
// remain.
inline std::int64_t end_of_range(std::int64_t seen, std::int64_t most, std::int64_t n) {
    const std::int64_t more = std::max(whole_tiles(most), least_range);
    return n - seen - more < more / 4 ? n : seen + more;
}
// Queries per step, for q queries in all: equal steps of whole tiles.
inline std::int64_t projected_step(std::int64_t q) {
    const std::int64_t steps = (q + most_step_queries - 1) / most_step_queries,
                       tile = filter_tile_queries;
    return std::min(q, ((q + steps - 1) / steps + tile - 1) / tile * tile);
}
// Int8 terms do not serve if for some query they let this many more points of the first range pass
// than integer thresholds do, or enough that later ranges would fill the room. Reasoned.
inline constexpr std::int32_t least_raised = 64;
// Candidates of later ranges, as a share of those of the first, whose thresholds follow from a
// sample: for PCA projections, whose sample is shorter, and for int8. Reasoned.
inline constexpr double passed_later = 0.3, bytes_passed_later = 0.5;
// The length of the second sample by all coordinates, if a PCA projection follows, which takes less
// for the rest of it. NVIDIA H100, 2026-11-26, deviations i^-0.7, d 768 and 1,536, k 10 and 100:
// 8.06, 12.03, 13.58 and 22.66 ms with 4,096 points, 8.02, 11.78, 13.28 and 21.93 with 8,192, 8.46,
// 11.87, 13.48 and 22.02 with 16,384.
inline constexpr std::int64_t projected_sample = 1 << 13;
inline FilterLevels projected_levels(FilterLevels levels, std::int64_t n, std::int64_t k) {
    if (levels.count < 2 || levels.sample[1] <= projected_sample ||
        levels.sample[0] >= projected_sample)
        return levels;
    levels.sample[1] = projected_sample;
    levels.order[1] = sample_order(k, levels.sample[1], n);
    levels.order[0] = sample_order(levels.order[1], levels.sample[0], levels.sample[1]);
    return levels;
}
// Host-resident points, with int8 alone on the device (points/listed_vectors.h): the most
// neighbours, the growth of ranges, and the pairs whose rows are made at a time. Both samples lie
// within the positions that have fp16 vectors.
inline constexpr std::int64_t most_listed_k = 1024, listed_growth = 2, listed_pairs = 1 << 16;
inline FilterLevels listed_levels(std::int64_t n, std::int64_t k) {
    FilterLevels levels;
    levels.sample[0] = std::min<std::int64_t>(n, 4096);
    levels.order[0] = sample_order(k, levels.sample[0], n);
    const std::int64_t second =
        std::min(n / filter_tile_points * filter_tile_points, listed_sample);
    if (second > levels.sample[0]) {
        levels.count = 2;
        levels.sample[1] = second;
        levels.order[1] = sample_order(k, second, n);
        levels.order[0] = sample_order(levels.order[1], levels.sample[0], second);
    }
    const double growth = 1 + static_cast<double>(listed_growth),
                 ratio = static_cast<double>(listed_sample) / 4096;
    const double room = std::max(candidate_room(levels.order[0], std::max(ratio, growth)),
                                 candidate_room(k, growth));
    levels.capacity =
        std::min<std::int64_t>(static_cast<std::int64_t>(room + 63) / 64 * 64, max_candidates);
    return levels;
}
// Beyond this dimension few queries use int8, too, if it exists: it reads much less of the points.
// Reasoned, not timed: half of the bytes, and samples, against one pass over all coordinates.
inline constexpr std::int64_t few_queries_dimensions = 1024;
// The dense pass for very few queries uses a projection that reads at least this many bytes less:
// its two kernels cost as much.
inline constexpr double coarse_value_bytes = 0x1p25;

}  // namespace kith::gpu::tuning
