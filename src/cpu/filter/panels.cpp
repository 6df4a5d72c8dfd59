// Packing points for the filter.
#include "cpu/filter/panels.h"

#include <algorithm>
#include <cstring>

#include "cpu/metric/kernels.h"
#include "exact/direct_scale.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Points that the bound does not cover are candidates of every query: more than this share of them, and a scan is
// better.
constexpr double max_uncovered = 0.02;
constexpr std::int64_t few_uncovered = 64;

// Unit vectors are centred where a scale of so much, or more, brings what their mean leaves of one near 1.
constexpr double least_centred_scale = 4;
// Norms of points less their centre, in proportion to that of the centre, that a scale is chosen for: a query of the
// centre's norm is still covered.
constexpr double least_spread = 0x1p-20;
// Cross entropies. Queries have this norm, and coordinates other than 0 at least this share of it, so that their
// products with what stands for the logarithm of 0 overflow.
constexpr double entropy_norm = 0x1p60, entropy_share = 0x1p-58;
// Coordinates other than 0 whose quotients binary64 holds well.
constexpr double smallest_quotient = 0x1p-500, largest_quotient = 0x1p500;

// What a row may pay for its rounding to f32: thrice that is finite.
constexpr double largest_share = 0x1p126;

// After a factor. The weight that splits a product of a difference and its error; the largest |W (x - c)|^2 of covered
// rows.
constexpr double factor_split = 0x1p-20, largest_factored = 1e280;

double norm_of(const double* v, const double* centre, std::int64_t d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += (v[j] - centre[j]) * (v[j] - centre[j]);
    return std::sqrt(sum);
}

// Coordinate j of f32 or bf16 words becomes the lowest number.
void set_lowest(float* words, std::int64_t j, bool bf16) {
    constexpr std::uint16_t lowest = 0xff7f;
    if (bf16) std::memcpy(reinterpret_cast<std::byte*>(words) + 2 * j, &lowest, sizeof lowest);
    else words[j] = std::numeric_limits<float>::lowest();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// 2^e, clamped so that its square stays well within binary64.
double power_of_two(double e) {
    return std::ldexp(1.0, static_cast<int>(std::clamp(e, -400.0, 400.0)));
}

}  // namespace

// The centre and the scale come from a sample, less its far outliers. Neither affects the answer, only how tight the
// bound is. The centre is coarse, so that data of few bits keep coordinates that f32 holds exactly.
bool Filter::choose_centre(const MatrixView& points, const DistanceKeys& distance_keys, const TileKernels& tiles) {
    const std::int64_t n = points.rows, sample = std::min<std::int64_t>(n, 512);
    RowBlock rows(sample, d_);
    for (std::int64_t i = 0; i < sample; ++i) distance_keys.load(points, i * n / sample, 1, rows, i);
    centre_ = zero_;
    if (metric_form_ == metric::Gemm::cross_entropy) {
        for (std::int64_t j = 0; j < d_; ++j) {
            double sum = 0, count = 0;
            for (std::int64_t i = 0; i < sample; ++i) {
                const double x = rows.row(i)[j];
                if (!(x >= smallest_quotient && x <= largest_quotient)) continue;
                sum += portable::log(x);
                count += 1;
            }
            if (count > 0) centre_[static_cast<std::size_t>(j)] = sum / count;
        }
    }
    double norm = 0;
    std::vector<std::int64_t> zeros;
    for (std::int64_t i = 0; i < sample; ++i) {
        if (metric_form_ == metric::Gemm::cosine) make_unit(rows.row(i), norm);
        if (metric_form_ == metric::Gemm::cross_entropy) make_logarithms(tiles, rows.row(i), zeros);
    }
    const auto norms = [&](const std::vector<double>& centre) {
        std::vector<double> all(static_cast<std::size_t>(sample));
        for (std::int64_t i = 0; i < sample; ++i) {
            const double norm = norm_of(rows.row(i), centre.data(), d_);
            all[static_cast<std::size_t>(i)] = norm < max_norm ? norm : std::numeric_limits<double>::infinity();
        }
        return all;
    };
    std::vector<double> size = norms(centre_);
    double typical = median(size);
    if (!(typical < max_norm)) return false;
    if (metric_form_ != metric::Gemm::dot) {
        std::vector<double> mean(static_cast<std::size_t>(d_), 0.0);
        double count = 0;
        for (std::int64_t i = 0; i < sample; ++i) {
            if (!(size[static_cast<std::size_t>(i)] <= 4 * typical)) continue;
            const double* row = rows.row(i);
            for (std::int64_t j = 0; j < d_; ++j) mean[static_cast<std::size_t>(j)] += row[j];
            count += 1;
        }
        for (double& m : mean) m /= count;
        centre_ = mean;
        typical = median(norms(centre_));
        const bool factored = !factor_.values.empty();
        if (typical > 0 && !factored) {
            const double grid = power_of_two(std::floor(std::log2(typical / std::sqrt(static_cast<double>(d_)))) - 2);
            for (double& m : centre_) m = std::nearbyint(m / grid) * grid;
        }
        for (std::int64_t i = 0; factored && i < sample; ++i) make_factored(tiles, rows.row(i));
        size = norms(factored ? zero_ : centre_);
        typical = median(size);
    }
    if (typical == 0) {
        for (const double s : size) {
            if (s < max_norm) typical = std::max(typical, s);
        }
    }
    // Where the points are nearly all equal, queries are not.
    if (metric_form_ != metric::Gemm::dot && factor_.values.empty())
        typical = std::max(typical, least_spread * norm_of(centre_.data(), zero_.data(), d_));
    if (typical > 0) scale_ = power_of_two(-std::floor(std::log2(typical)));
    return true;
}

// Of a direct form.
void Filter::choose_scale(const MatrixView& points, const DistanceKeys& distance_keys) {
    const std::int64_t n = points.rows, sample = std::min<std::int64_t>(n, 64);
    RowBlock rows(sample, d_);
    for (std::int64_t i = 0; i < sample; ++i) distance_keys.load(points, i * n / sample, 1, rows, i);
    const exact::DirectSample sampled{rows.row(0), sample, d_, rows.stride()};
    scale_ = exact::direct_scale(direct_, sampled);
    if (direct_.coordinates == exact::Coordinates::rounded) centre_ = exact::direct_centre(sampled, scale_);
}

RowSums Filter::round(const TileKernels& tiles, const double* row, const double* centre, double scale,
                      float* out) const {
    const auto kernel = pairs_                                          ? pairs_->round_row
                        : direct_.coordinates == exact::Coordinates::i8 ? tiles.round_i8
                        : direct_.coordinates == exact::Coordinates::u8 ? tiles.round_u8
                                                                        : tiles.round_row;
    return kernel(row, centre, scale, d_, out);
}

bool Filter::make_unit(double* row, double& norm) const {
    norm = norm_of(row, zero_.data(), d_);
    const double scale = norm == 0 ? 0 : 1 / norm;
    for (std::int64_t j = 0; j < d_; ++j) row[j] *= scale;
    return norm == 0 || (norm >= min_norm && norm <= max_norm);
}

// Coordinates that are 0 have the centre's logarithm, and their places.
bool Filter::make_logarithms(const TileKernels& tiles, double* row, std::vector<std::int64_t>& zeros) const {
    bool covered = true;
    zeros.clear();
    for (std::int64_t j = 0; j < d_; ++j) {
        if (row[j] == 0) zeros.push_back(j);
        covered &= row[j] == 0 || (row[j] >= smallest_quotient && row[j] <= largest_quotient);
    }
    tiles.logarithms(row, d_);
    for (const std::int64_t j : zeros) row[j] = centre_[static_cast<std::size_t>(j)];
    return covered;
}

double Filter::make_factored(const TileKernels& tiles, double* row) const {
    std::vector<double> y(static_cast<std::size_t>(d_));
    const double* const weights = factor_.values.data() + d_ * d_;
    double size2 = 0;
    for (std::int64_t j = 0; j < d_; ++j) {
        const double v = (row[j] - centre_[static_cast<std::size_t>(j)]) * weights[j];
        y[static_cast<std::size_t>(j)] = v;
        size2 += v * v;
    }
    tiles.multiply_factor(y.data(), factor_.values.data(), d_, row);
    if (!(size2 <= largest_factored)) return nan;
    double norm2 = 0;
    for (std::int64_t j = 0; j < d_; ++j) norm2 += row[j] * row[j];
    const double c = factor_.coordinate_error;
    return scale_ * scale_ * (norm2 * factor_split + size2 * ((1 + 1 / factor_split) * c * c + factor_.rank_error));
}

bool Filter::round_direct(const TileKernels& tiles, const double* row, float* out, double& share) const {
    bool covered = true;
    share = 0;
    if (direct_.coordinates == exact::Coordinates::roots) {
        std::vector<double> roots(static_cast<std::size_t>(d_));
        for (std::int64_t j = 0; j < d_; ++j) {
            covered &= row[j] == 0 || row[j] >= exact::smallest_covered;
            roots[static_cast<std::size_t>(j)] = row[j] < exact::smallest_root_of ? 0 : std::sqrt(row[j]);
        }
        return round(tiles, roots.data(), zero_.data(), 1, out).norm2 < std::numeric_limits<double>::infinity() &&
               covered;
    }
    if (direct_.coordinates == exact::Coordinates::indicators) {
        std::vector<double> there(static_cast<std::size_t>(d_));
        for (std::int64_t j = 0; j < d_; ++j) there[static_cast<std::size_t>(j)] = row[j] == 0 ? 0 : 1;
        round(tiles, there.data(), zero_.data(), 1, out);
        return true;
    }
    if (direct_.largest < std::numeric_limits<double>::infinity())
        for (std::int64_t j = 0; j < d_; ++j) covered &= direct_.covers(row[j]);
    const RowSums s = round(tiles, row, centre_.data(), scale_, out);
    if (direct_.coordinates == exact::Coordinates::nearest) return covered;
    if (direct_.rounding.power == 0) {
        // Squares of what rounding took may underflow: every coordinate has to be held.
        const bool bytes = exact::coordinates_per_word(direct_) > 1;
        for (std::int64_t j = 0; j < d_; ++j)
            covered &= bytes ? row[j] == std::trunc(row[j]) : static_cast<double>(out[j]) == row[j] * scale_;
        return covered && !(bytes && s.residual2 > 0);
    }
    const bool centred = is_centred();
    if (!centred && !(s.residual2 > 0)) {
        // Infinite coordinates are exact as well; their residual is NaN, whatever that of the others is.
        for (std::int64_t j = 0; s.residual2 != s.residual2 && j < d_; ++j)
            covered &= static_cast<double>(out[j]) == row[j] * scale_;
        return covered;
    }
    share = exact::rounded_share(direct_.rounding, rounded_.weight, s.residual2, centred ? s.norm2 : 0);
    return covered && share < largest_share;
}

void Filter::pack(const MatrixView& points, const DistanceKeys& distance_keys, const TileKernels& tiles,
                  std::int64_t panel, RowBlock& rows, float* rounded, Packed& packed) {
    const std::int64_t first = panel * panel_points;
    const std::int64_t count = std::min<std::int64_t>(panel_points, points.rows - first);
    const std::int64_t stride = rows.stride();
    float* out = data_.data() + panel * panel_floats(words_);
    distance_keys.load(points, first, count, rows);
    std::vector<std::int64_t> zeros;
    for (std::int64_t i = 0; i < panel_points; ++i) {
        float* to = rounded + i * stride;
        PointTerms terms{infinity, 0};
        if (i < count && !rows.nan()[i]) {
            double* const row = rows.row(i);
            bool covered = true;
            RowSums s{};
            if (form_ == metric::Gemm::none) {
                double share = 0;
                covered = round_direct(tiles, row, to, share) && (share == 0 || is_centred());
                const float paid = round_up(share);
                // An accumulator that is a maximum does not start lower: the queries pay for the points.
                terms = {direct_.step == Step::chebyshev ? 0.0f : -paid, 2 * paid};
                if (covered) packed.share = std::max(packed.share, paid);
            } else {
                double norm = 1;
                if (metric_form_ == metric::Gemm::cosine) covered = make_unit(row, norm);
                // Of 0 no unit vector is to be centred.
                if (norm == 0 && form_ == metric::Gemm::l2) covered = false;
                if (metric_form_ == metric::Gemm::cross_entropy) covered = make_logarithms(tiles, row, zeros);
                const bool factored = !factor_.values.empty();
                const double more = factored ? make_factored(tiles, row) : 0;
                if (more != more) covered = false;
                s = round(tiles, row, factored ? zero_.data() : centre_.data(), scale_, to);
                for (const std::int64_t j : zeros) set_lowest(to, j, pairs_ != nullptr);
                covered = covered && s.norm2 <= max_scaled_norm * max_scaled_norm;
                terms = bound_.point(s, more);
            }
            if (!covered) {
                terms = {nan, 0};
                ++packed.uncovered;
            } else {
                packed.largest = std::max(packed.largest, s.rounded2);
            }
        }
        if (!(terms.half_norm < infinity)) std::fill_n(to, words_, 0.0f);
        out[i] = terms.half_norm;
        out[panel_points + i] = terms.slack;
    }
    tiles.transpose(rounded, stride, words_, out + panel_header);
}

std::shared_ptr<const Filter> Filter::make(const MatrixView& points, const MetricSpec& metric, Isa isa, int threads,
                                           Rounding rounding, ProgressMeter& progress) {
    if (points.cols > max_filter_dimensions || points.rows == 0) return nullptr;
    // Many rows of 0 are none of unit vectors.
    const bool cosine = metric_kernels(metric.id, isa).traits.gemm == metric::Gemm::cosine;
    auto filter = make_of(points, metric, isa, threads, rounding, cosine, progress);
    return filter || !cosine ? filter : make_of(points, metric, isa, threads, rounding, false, progress);
}

std::shared_ptr<const Filter> Filter::make_of(const MatrixView& points, const MetricSpec& metric, Isa isa, int threads,
                                              Rounding rounding, bool centre_units, ProgressMeter& progress) {
    const MatrixView& m = points;
    auto filter = std::make_shared<Filter>();
    Filter& f = *filter;
    const metric::Traits& traits = metric_kernels(metric.id, isa).traits;
    f.form_ = f.metric_form_ = rounding == Rounding::direct ? metric::Gemm::none : metric::product_form(traits);
    f.d_ = m.cols;
    f.pairs_ = rounding == Rounding::bf16 ? pair_kernels() : nullptr;
    f.centre_ = f.zero_ = std::vector<double>(static_cast<std::size_t>(f.d_), 0.0);
    const DistanceKeys distance_keys(metric, isa);
    const TileKernels& tiles = tile_kernels(isa);
    double query_norm = 1;
    if (f.form_ == metric::Gemm::none) {
        const std::optional<exact::DirectForm> direct = exact::direct_form(traits, metric.params, points.type);
        if (!direct) return nullptr;
        f.direct_ = *direct;
        f.step_ = f.direct_.step;
        f.rounded_ = exact::rounded_bound(f.direct_.rounding, exact::direct_bound(f.direct_.error, f.d_));
        if (f.direct_.degree > 0) f.choose_scale(points, distance_keys);
    } else if (f.form_ == metric::Gemm::cosine) {
        if (centre_units && f.choose_centre(points, distance_keys, tiles) && f.scale_ >= least_centred_scale) {
            f.form_ = metric::Gemm::l2;
        } else {
            f.centre_ = f.zero_;
            f.scale_ = 1;
        }
    } else {
        if (traits.factored) {
            const double* const matrix = metric.params.constants;
            f.factor_ = exact::factorise({matrix, matrix + f.d_ * f.d_}, f.d_, threads, progress);
            if (f.factor_.values.empty()) return nullptr;
        }
        if (!f.choose_centre(points, distance_keys, tiles)) return nullptr;
        if (f.form_ == metric::Gemm::cross_entropy) {
            f.form_ = metric::Gemm::dot;
            query_norm = entropy_norm;
        }
    }
    f.bound_ = FilterBound(f.form_, f.d_, rounding, query_norm);
    f.words_ = (f.d_ + f.word_coordinates() - 1) / f.word_coordinates();
    f.panels_ = (m.rows + panel_points - 1) / panel_points;
    f.data_ = Buffer<float>(f.panels_ * panel_floats(f.words_));
    const std::int64_t tasks = std::min<std::int64_t>(f.panels_, 16 * threads);
    std::vector<Packed> packed(static_cast<std::size_t>(tasks));
    watched_tasks(threads, tasks, progress, "prepare", [&](std::int64_t task, int worker) {
        const DistanceKeys own(metric, isa);
        RowBlock rows(panel_points, f.d_);
        Buffer<float> rounded_rows(panel_points * rows.stride());
        for (std::int64_t p = task * f.panels_ / tasks; p < (task + 1) * f.panels_ / tasks; ++p) {
            if (progress.cancelled()) return;
            f.pack(points, own, tiles, p, rows, rounded_rows.data(), packed[static_cast<std::size_t>(task)]);
            if (worker == 0) progress.poll("prepare");
        }
    });
    progress.throw_if_cancelled();
    Packed all;
    for (const Packed& p : packed)
        all = {all.uncovered + p.uncovered, std::max(all.largest, p.largest), std::max(all.share, p.share)};
    if (f.direct_.step == Step::chebyshev) f.points_share_ = all.share;
    f.bound_.set_largest(std::sqrt(all.largest));
    const double limit = std::max(static_cast<double>(few_uncovered), max_uncovered * static_cast<double>(m.rows));
    return static_cast<double>(all.uncovered) > limit ? nullptr : filter;
}

QueryTerms Filter::query(const RowBlock& block, std::int64_t i, const TileKernels& tiles, float* out) const {
    const double* row = block.row(i);
    if (form_ == metric::Gemm::none) {
        QueryTerms t = direct_terms(exact::direct_bound(direct_.error, d_));
        t.scale = std::pow(scale_, direct_.degree);
        double share = 0;
        t.usable = round_direct(tiles, row, out, share);
        if (share > 0 || is_centred()) t.growth = rounded_.growth;
        t.error += share + points_share_;
        return t;
    }
    QueryTerms t = metric_form_ == metric::Gemm::cross_entropy ? cross_entropy_query(row, tiles, out)
                                                               : product_query(row, tiles, out);
    const std::uint32_t signs = pairs_ ? 0x80008000 : 0x80000000;
    for (std::int64_t j = 0; j < words_; ++j) {
        std::uint32_t word;
        std::memcpy(&word, out + j, sizeof word);
        word ^= signs;
        std::memcpy(out + j, &word, sizeof word);
    }
    return t;
}

QueryTerms Filter::product_query(const double* row, const TileKernels& tiles, float* out) const {
    if (!factor_.values.empty()) {
        std::vector<double> factored(row, row + d_);
        const double more = make_factored(tiles, factored.data());
        const RowSums s = round(tiles, factored.data(), zero_.data(), scale_, out);
        QueryTerms t = bound_.query(s, scale_, 1, more);
        t.usable = more == more && s.norm2 <= max_scaled_norm * max_scaled_norm;
        return t;
    }
    if (metric_form_ == metric::Gemm::l2) {
        const RowSums s = round(tiles, row, centre_.data(), scale_, out);
        QueryTerms t = bound_.query(s, scale_, 1);
        t.usable = s.norm2 <= max_scaled_norm * max_scaled_norm;
        return t;
    }
    std::vector<double> unit(row, row + d_);
    double norm = 0;
    const bool covered = make_unit(unit.data(), norm);
    const bool centred = form_ == metric::Gemm::l2;
    const RowSums s = round(tiles, unit.data(), centre_.data(), centred ? scale_ : 1, out);
    QueryTerms t = bound_.query(s, scale_, norm / scale_);
    t.usable = covered && s.norm2 <= max_scaled_norm * max_scaled_norm;
    t.alike = metric_form_ == metric::Gemm::cosine && norm == 0;
    if (centred) {
        // The distance key is half of the unit vectors' square, but for what binary64 rounds of the two.
        t.scale = scale_ * scale_;
        t.error += 2 * bound_.binary64_error() * t.scale;
        t.usable = t.usable && norm > 0;
    }
    return t;
}

// The distance key is  sum q (log q - c)  -  <q, log x - c>.
QueryTerms Filter::cross_entropy_query(const double* row, const TileKernels& tiles, float* out) const {
    std::vector<double> unit(row, row + d_);
    double norm = 0, sum = 0, size = 0;
    bool covered = make_unit(unit.data(), norm);
    std::vector<double> logs(row, row + d_);
    tiles.logarithms(logs.data(), d_);
    for (std::int64_t j = 0; j < d_; ++j) {
        double& u = unit[static_cast<std::size_t>(j)];
        if (row[j] == 0) continue;
        covered &= row[j] >= smallest_quotient && row[j] <= largest_quotient;
        const double log = logs[static_cast<std::size_t>(j)], c = centre_[static_cast<std::size_t>(j)];
        sum += row[j] * (log - c);
        size += row[j] * (1 + std::abs(log) + std::abs(c));
        u = std::max(u, entropy_share);
    }
    const RowSums s = round(tiles, unit.data(), zero_.data(), entropy_norm, out);
    QueryTerms t = bound_.query(s, scale_, norm / scale_);
    t.offset = -sum * t.scale;
    t.error += bound_.binary64_error() * size * t.scale;
    t.usable = covered;
    return t;
}

}  // namespace kith::cpu
