// Tuning numbers of passes along few directions, or in numbers of 8 bits, and of what looks at
// their candidates: ranges, stages, rows. Plain host code, as tuning.h, which counts the memory
// that they take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/filter/further.h"
#include "gpu/filter/levels.h"
#include "gpu/points/tuning.h"

namespace kith::gpu::tuning {

// Candidates of a projection: per query, and the queries that have room for them at a time (960
// MiB): 10,000, as sets of images and of vectors have. Queries that are tried first. A range of
// points is at most so many times what has been seen before it, and leaves a mean query one in
// room_share of the room: images differ by as much. On an NVIDIA H100, 2026-11-23, n 1,048,576, q
// 8,192, d 768 of deviations i^-0.7, 255 directions, k 10 and 100: 797 and 524 G/s; ranges of three
// times what has been seen 745 and 495; with 127 directions, of which five times as many points
// pass, 4,096 and a share of 8 left 45 ms where 64 took 13. Of 10,000 images k 10 took 17.1 ms in
// steps of 8,192 and 1,808 queries, 19.6 in steps of 4,096; on 2026-11-27 8.5 in steps of 5,120
// and, with what stages say in f32, 8.0 at once.
inline constexpr std::int64_t projected_room = 12288, most_step_queries = 10240,
                              projected_pilots = 256;
inline constexpr std::int64_t least_range = 4096;  // points
// Neighbours that are few: of ranges behind which few rows of all coordinates are left.
inline constexpr std::int64_t few_kept = 16;
// The more neighbours a projection's share is of, the nearer it is to what passes; of few
// neighbours half as many pass as of 128. On an NVIDIA H100, 2026-11-27, d 1,536 of deviations
// i^-0.7, k 10: 9.92 ms with a share of 32, 9.67 with 16, 9.71 with 11; k 100 18.8, 18.6, 18.5; of
// room for 8,192, of which a 16th is a 24th of 12,288.
inline double room_share(std::int64_t n, std::int64_t k) {
    const double neighbours = expected_neighbours(n);
    return (neighbours > 64 && k <= few_kept ? 3072 : 6144) / neighbours;
}
// Of points in cells (filter/cells.h): rows that are gathered at a time, and in how many parts a
// query's cells are looked at, of which each may fill the room for what passes.
inline constexpr std::int64_t gathered_bytes = std::int64_t{1} << 28;
inline std::int64_t cell_parts(std::int64_t k) {
    return k <= few_kept ? 2 : 3;
}
// Stages of a projection that are used, of rows of so many halves: behind the first few rows are
// left of few neighbours, and reading these takes no longer than another stage. On an NVIDIA H100,
// 2026-11-27, with numbers of 8 bits, k 10 and 100: d 768 7.24 and 11.2 ms with one stage, 7.31
// and 10.9 with two; d 1,536 12.2 and 21.8, 11.1 and 18.6. Of a million images, d 784, in 4 bits,
// on several machines, k 10 took 8.2 with two, 8.0 to 8.1 with one.
inline constexpr int stages_of(int stages, std::int64_t width, std::int64_t k) {
    return k <= few_kept && width <= 1024 ? std::min(stages, 1) : stages;
}
// Points of a part whose rows, of so many bytes, are read for all queries of a step before those of
// the next (reread.h), of a range; 0: a query's rows are read in the order of their bounds. Half of
// L2 holds those of a part. The order saves rows of few neighbours, and of ranges that L2 nearly
// holds; but few queries have a block each then, which do not fill the device. A query's candidates
// are looked at again for every part, which few bytes beside a row are for. On an NVIDIA H100,
// 2026-11-28, n 1,048,576, deviations i^-0.7, in order and by parts, ms: q 8,192, d 1,536, k
// 16 10.6 and 11.1, 32 12.9 and 12.5, 100 18.4 and 16.6; d 768, k 64 9.36 and 9.45, 100 10.6
// and 10.3; q 512, k 10 1.39 and 1.21, 0.96 and 0.83.
inline std::int64_t part_points(std::int64_t q, std::int64_t k, std::int64_t range,
                                std::int64_t row_bytes, std::int64_t cache_bytes) {
    constexpr std::int64_t many_bytes = 3 << 15, least = 1024, parts = 8;
    const std::int64_t fit = cache_bytes / 2 / row_bytes, part = std::min(fit, range / parts),
                       looked_at = range * 4 * 8 / row_bytes;
    if (q < queries_of_most_shares) return 0;
    if (q < filling_queries) return std::max({part, looked_at, least});
    return k * row_bytes >= many_bytes && range > 4 * fit && looked_at <= part ? part : 0;
}
// Few queries are bound by reading the points, and each range by its launches; numbers of 8 bits
// leave fewer points to read than directions do. On an NVIDIA H100, 2026-11-24, Gaussian points of
// 256 dimensions, k 10: 4.79, 4.63 and 4.62 ms with ranges of once, twice and four times what has
// been seen, 768 dimensions 11.15, 11.18 and 12.06. Along directions, 2026-11-27, rows read in the
// order of their bounds, d 768 and 1,536 of deviations i^-0.7, once, twice and three times: k
// 10 6.93 and 9.99, 6.81 and 9.80, 6.86 and 9.95; k 100 10.5 and 18.3, 10.5 and 18.3, 10.6
// and 18.7, on another machine 10.7 and 18.4, 10.8 and 18.8.
inline std::int64_t range_growth(std::int64_t q, bool all_coordinates, std::int64_t k) {
    return q <= few_queries ? 15 : all_coordinates || k <= few_kept ? 2 : 1;
}
// Of many neighbours a range is a quarter of the points at most: of 10,000 images of a million, 100
// neighbours, 3 had no room for what passed in a half, and were searched by all coordinates: 12.5
// to 12.8 ms, 11.8 to 12.0 since.
inline std::int64_t longest_range(std::int64_t n, std::int64_t k) {
    return k > 64 ? (n + 3) / 4 : n;
}
// The end of the range that begins with point `seen`: some `most` points more, unless little is
// left then.
inline std::int64_t end_of_range(std::int64_t seen, std::int64_t most, std::int64_t n) {
    const std::int64_t more = std::max(whole_tiles(most), least_range);
    return n - seen - more < more / 4 ? n : seen + more;
}
// The queries of a step, of q: equal steps, whole tiles.
inline std::int64_t projected_step(std::int64_t q) {
    const std::int64_t steps = (q + most_step_queries - 1) / most_step_queries,
                       tile = filter_tile_queries;
    return std::min(q, ((q + steps - 1) / steps + tile - 1) / tile * tile);
}
// Terms of bytes do not serve where they let so many more points of the first range pass for a
// query than ints do, or a share of the room that later ranges would fill. Reasoned.
inline constexpr std::int32_t least_raised = 64;
// What passes of later ranges, as a share of what passes of the first, whose thresholds are of a
// sample: of directions, whose sample is shorter, and of numbers of 8 bits. Reasoned.
inline constexpr double passed_later = 0.3, bytes_passed_later = 0.5;
// Where few directions follow, the second sample by all coordinates is so long: they take less for
// the rest of it. On an NVIDIA H100, 2026-11-26, deviations i^-0.7 of 768 and of 1,536 dimensions,
// k 10 and 100: 8.06, 12.03, 13.58 and 22.66 ms with 4,096 points, 8.02, 11.78, 13.28 and 21.93
// with 8,192, 8.46, 11.87, 13.48 and 22.02 with 16,384.
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
// Where numbers of 8 bits are all that is on the device of the points (points/listed_vectors.h):
// two samples within the positions that have fp16 vectors, for up to so many neighbours, and pairs
// that pass whose rows are made at a time.
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
// Beyond so many dimensions numbers of 8 bits, where there are any, read so much less of the points
// that few queries take them, too. Reasoned, not timed: half of the bytes, and samples, against all
// coordinates once.
inline constexpr std::int64_t few_queries_dimensions = 1024;
// Values of very few queries are of a projection where it reads so many bytes less: what its two
// kernels more take.
inline constexpr double coarse_value_bytes = 0x1p25;

}  // namespace kith::gpu::tuning
