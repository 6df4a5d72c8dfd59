// Coarse panels of PCA projections or int8 coordinates, and the full-dimensional rows that rescore
// their candidates.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/filter/panels.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// After scaling typical rows have norms of 1 to 2; norms beyond largest_sampled are outliers.
constexpr double largest_sampled = 8;
// Sampled rows that decide for int16 rows. They need a residual below largest_short_residual; bf16
// leaves about twice that.
constexpr std::int64_t rows_rounded = 256;
constexpr double largest_short_residual = 0x1p-10;
// The least relative residual assumed for int8 rounding: half of what it leaves of a Gaussian
// vector.
constexpr double least_byte_residual = 0x1p-8;
// Residual of a unit query that points pay for, as a multiple of the typical one: larger where that
// is nearly nothing.
constexpr double margin_of_bytes = 1.25, margin_of_shorts = 2;

double norm2_of(const double* v, std::int64_t d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += v[j] * v[j];
    return sum;
}

// The mean of |v - v^| / |v|.
double mean_left(const std::vector<RowSums>& rows) {
    double sum = 0;
    for (const RowSums& s : rows)
        if (s.norm2 > 0) sum += std::sqrt(s.residual2 / s.norm2) / static_cast<double>(rows.size());
    return sum;
}

}  // namespace

RowSums Filter::round_projected(const TileKernels& tiles, double norm2, double* coordinates,
                                float* out) const {
    const double error = projection_->complete(norm2, coordinates);
    RowSums s = round(tiles, coordinates, form_.zero.data(), 1, projection_->columns() + 1, out);
    const double residual = std::sqrt(s.residual2) + error;
    s.norm2 = norm2;
    s.residual2 = residual * residual;
    return s;
}

void Filter::pack_coarse(const MatrixView& points, const DistanceKeys& distance_keys,
                         const TileKernels& tiles, std::int64_t panel, PackBuffers& buffers,
                         Packed& packed) {
    RowBlock& rows = buffers.rows;
    const std::int64_t first = panel * panel_points, stride = std::max(rows.stride(), words_);
    const std::int64_t count = std::min<std::int64_t>(panel_points, points.rows - first);
    const std::int64_t room = projection_ ? projection_->room() : 0;
    float* out = data_.data() + panel * panel_floats(words_);
    distance_keys.load(points, first, count, rows);
    double *const vectors = buffers.vectors.data(), *const coordinates = buffers.coordinates.data();
    RowSums sums[panel_points] = {};
    BesideSums beside[panel_points];
    PointTerms terms[panel_points];
    float scales[panel_points] = {};
    for (std::int64_t i = 0; i < count; ++i) {
        double* const vector = vectors + i * form_.d;
        float* const to =
            whole_ ? buffers.rounded.data() : rows_.data() + (first + i) * row_words();
        if (whole_ && !whole_->set(tiles, rows.row(i), first + i))
            packed.fractions |= !rows.nan()[i];
        const bool covered =
            !rows.nan()[i] && form_.make_vector(tiles, rows.row(i), vector, beside[i]);
        RowSums& s = sums[i];
        if (covered && whole_) s = tiles.round_row(vector, form_.zero.data(), 1, form_.d, to);
        else if (covered && shorts_) s = shorts_->round_row(vector, form_.d, to, scales[i]);
        else if (covered) s = round(tiles, vector, form_.zero.data(), 1, to);
        if (covered && s.norm2 <= max_scaled_norm * max_scaled_norm) {
            terms[i] = bound_.point(s, beside[i]);
            packed.largest = std::max(packed.largest, s.rounded2);
            continue;
        }
        std::fill_n(vector, form_.d, 0.0);
        std::fill_n(to, row_words(), 0.0f);
        s = {};
        terms[i] = {rows.nan()[i] ? infinity : nan, 0};
        packed.uncovered += !rows.nan()[i];
    }
    for (std::int64_t i = 0; i < count && !whole_; ++i)
        row_terms_[first + i] = {terms[i].half_norm, terms[i].slack, scales[i]};
    if (projection_) projection_->coordinates(tiles, vectors, form_.d, count, coordinates);
    for (std::int64_t i = 0; i < panel_points; ++i) {
        float* const to = buffers.rounded.data() + i * stride;
        out[i] = i < count ? terms[i].half_norm : infinity;
        // Panels of coarse forms yield no upper values: int8 stores a scale here.
        out[panel_points + i] = bytes_ ? 0 : infinity;
        std::fill_n(to, words_, 0.0f);
        if (!(out[i] < infinity)) continue;
        const RowSums s =
            bytes_ ? round_bytes(vectors + i * form_.d, form_.scale, to, out[panel_points + i])
                   : round_projected(tiles, sums[i].norm2, coordinates + i * room, to);
        out[i] = coarse_bound_.point(s, beside[i]).half_norm;
        packed.largest_coarse = std::max(packed.largest_coarse, s.rounded2);
    }
    tiles.transpose(buffers.rounded.data(), stride, words_, out + panel_header);
    if (bytes_ && bytes_->raise) bytes_->raise(out + panel_header, words_ * panel_points);
}

void Filter::choose_rows(const double* vectors, std::int64_t count, Isa isa) {
    const ShortKernels* const kernels = short_kernels(isa);
    if (!kernels) return;
    const std::int64_t looked_at = std::min(count, rows_rounded);
    std::vector<float> words(static_cast<std::size_t>(exact::ceil_div(form_.d, std::int64_t{2})));
    std::vector<RowSums> sums;
    for (std::int64_t i = 0; i < looked_at; ++i) {
        float scale = 0;
        sums.push_back(kernels->round_row(vectors + i * count / looked_at * form_.d, form_.d,
                                          words.data(), scale));
    }
    double typical = mean_left(sums);
    if (typical > largest_short_residual) return;
    shorts_ = kernels;
    // Queries may lose what a Gaussian row does even where the points lose nothing.
    typical = std::max(typical, 1 / static_cast<double>(largest_short(form_.d)));
    bound_ = FilterBound::of_whole(form_.own, form_.d, typical, margin_of_shorts);
}

bool Filter::choose_coarse(const MatrixView& points, const DistanceKeys& distance_keys, Isa isa,
                           int threads, bool always, const MatrixView* queries,
                           ProgressMeter& progress) {
    const TileKernels& tiles = tile_kernels(isa);
    if (form_.own == metric::Gemm::none || form_.metric == metric::Gemm::cross_entropy)
        return false;
    if (form_.d > max_projected_dimensions) return false;
    const std::int64_t most =
        std::clamp(std::min(points.rows / sampled_share, sampled_values / form_.d), least_sample,
                   bytes_ ? least_sample : most_sample);
    const std::int64_t sample = std::min(points.rows, most);
    const double largest = bytes_ ? max_scaled_norm : largest_sampled;
    // Only l2 takes the search's queries: the product forms normalise queries but not points.
    const std::int64_t wanted = queries && form_.own == metric::Gemm::l2
                                    ? std::min(queries->rows, FilterSample::most_tried)
                                    : 0;
    Buffer<double> vectors((sample + wanted) * form_.d);
    std::vector<char> used(static_cast<std::size_t>(sample + wanted));
    watched_for(threads, sample + wanted, 64, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    RowBlock rows(1, form_.d);
                    for (std::int64_t i = first; i < last; ++i) {
                        if (i < sample)
                            distance_keys.load(points, i * points.rows / sample, 1, rows);
                        else
                            distance_keys.load(*queries, (i - sample) * queries->rows / wanted, 1,
                                               rows);
                        double* const v = vectors.data() + i * form_.d;
                        BesideSums beside;
                        // Far outliers would take components of their own, and zero rows have no
                        // unit vectors.
                        const double most_norm = i < sample ? largest : max_scaled_norm;
                        used[static_cast<std::size_t>(i)] =
                            !rows.nan()[0] && form_.make_vector(tiles, rows.row(0), v, beside) &&
                            beside.half_norm == 0 && norm2_of(v, form_.d) <= most_norm * most_norm;
                    }
                });
    progress.throw_if_cancelled();
    std::int64_t kept = 0, count = 0;
    for (std::int64_t i = 0; i < sample + wanted; ++i) {
        if (used[static_cast<std::size_t>(i)])
            std::copy_n(vectors.data() + i * form_.d, form_.d, vectors.data() + kept++ * form_.d);
        if (i + 1 == sample) count = kept;
    }
    if (count < 2) return false;
    if (!whole_) choose_rows(vectors.data(), count, isa);
    const FilterSample sampled{form_.own, vectors.data(),     count,
                               form_.d,   whole_.has_value(), kept - count};
    if (!bytes_) {
        projection_ = find_projection(isa, sampled, points.rows, always, threads, progress);
        return projection_.has_value();
    }
    std::vector<RowSums> sums;
    std::vector<float> words(static_cast<std::size_t>(byte_words()));
    for (std::int64_t i = 0; i < kept; ++i) {
        float scale = 0;
        sums.push_back(round_bytes(vectors.data() + i * form_.d, form_.scale, words.data(), scale));
    }
    double typical = mean_left({sums.begin(), sums.begin() + count});
    // Likewise for int8, unless points and queries are integers.
    if (!whole_) typical = std::max(typical, least_byte_residual);
    coarse_bound_ = FilterBound::of_whole(form_.own, form_.d, typical, margin_of_bytes);
    return always || bytes_pay(isa, sampled, coarse_bound_, sums, points.rows);
}

void Filter::coarse_queries(const RowBlock& block, std::int64_t count, const TileKernels& tiles,
                            float* out, QueryTerms* terms) const {
    const std::int64_t room = projection_ ? projection_->room() : 0;
    std::vector<double> row(static_cast<std::size_t>(form_.d)), norms2, mores, norms;
    Buffer<double> vectors(count * form_.d), coordinates(count * room);
    for (std::int64_t i = 0; i < count; ++i) {
        double* const v = vectors.data() + i * form_.d;
        double norm = 0;
        BesideSums beside;
        row.assign(block.row(i), block.row(i) + form_.d);
        if (form_.metric == metric::Gemm::dot) {
            form_.make_unit(row.data(), norm);
            std::copy(row.begin(), row.end(), v);
        } else {
            form_.make_vector(tiles, row.data(), v, beside);
        }
        norms.push_back(norm);
        norms2.push_back(norm2_of(v, form_.d));
        mores.push_back(beside.error);
    }
    if (projection_)
        projection_->coordinates(tiles, vectors.data(), form_.d, count, coordinates.data());
    for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        float* const to = out + i * query_words();
        RowSums s;
        std::fill_n(to, query_words(), 0.0f);
        if (bytes_) {
            float* const words = to + bytes_->tiles.header;
            const double whole = form_.metric == metric::Gemm::dot ? 1 / norms[at] : form_.scale;
            s = round_bytes(vectors.data() + i * form_.d, whole, words, to[1]);
            if (bytes_->raise) {
                const auto start = static_cast<std::int32_t>(-128 * bytes_->sum(words, words_));
                std::memcpy(to, &start, sizeof start);
            }
        } else {
            s = round_projected(tiles, norms2[at], coordinates.data() + i * room, to);
            flip_signs(to, words_);
        }
        terms[i] = terms_of(coarse_bound_, vectors.data() + i * form_.d, s, norms[at], mores[at]);
    }
}

}  // namespace kith::cpu
