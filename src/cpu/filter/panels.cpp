// Packs points for the filter.
#include "cpu/filter/panels.h"

#include <algorithm>
#include <cstring>

#include "cpu/metric/kernels.h"
#include "exact/bounds/direct_scale.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Points that the bound does not cover are candidates of every query. Beyond this share of them,
// and this number, a full scan is better.
constexpr double max_uncovered = 0.02;
constexpr std::int64_t few_uncovered = 64;

// Unit vectors are centred where scaling their residuals from the mean to norms near 1 takes at
// least this factor.
constexpr double least_centred_scale = 4;
// Cross entropies. Queries have norm entropy_norm, and their nonzero coordinates at least
// entropy_share of it. Their products with the stand-in for log 0 therefore overflow.
constexpr double entropy_norm = 0x1p60, entropy_share = 0x1p-58;
// The largest share of a point for its rounding to f32: three times it is finite.
constexpr double largest_share = 0x1p126;

// Sets coordinate j of f32 or bf16 words to the lowest finite number.
void set_lowest(float* words, std::int64_t j, bool bf16) {
    constexpr std::uint16_t lowest = 0xff7f;
    if (bf16) std::memcpy(reinterpret_cast<std::byte*>(words) + 2 * j, &lowest, sizeof lowest);
    else words[j] = std::numeric_limits<float>::lowest();
}

// Element types that are 8-bit integers themselves.
bool whole_bytes(ElementType type) {
    return type == ElementType::u8 || type == ElementType::i8;
}

}  // namespace

// Direct forms only.
void Filter::choose_scale(const MatrixView& points, const DistanceKeys& distance_keys) {
    const std::int64_t n = points.rows, sample = std::min<std::int64_t>(n, 64);
    RowBlock rows(sample, form_.d);
    for (std::int64_t i = 0; i < sample; ++i)
        distance_keys.load(points, i * n / sample, 1, rows, i);
    const exact::DirectSample sampled{rows.row(0), sample, form_.d, rows.stride()};
    form_.scale = exact::direct_scale(direct_, sampled);
    if (direct_.coordinates == exact::Coordinates::rounded)
        form_.centre = exact::direct_centre(sampled, form_.scale);
}

RowSums Filter::round(const TileKernels& tiles, const double* row, const double* centre,
                      double scale, std::int64_t coordinates, float* out) const {
    const auto kernel = pairs_                                          ? pairs_->round_row
                        : direct_.coordinates == exact::Coordinates::i8 ? tiles.round_i8
                        : direct_.coordinates == exact::Coordinates::u8 ? tiles.round_u8
                                                                        : tiles.round_row;
    return kernel(row, centre, scale, coordinates, out);
}

RowSums Filter::round_query(const TileKernels& tiles, const double* row, const double* centre,
                            double scale, float* out) const {
    if (!shorts_) return round(tiles, row, centre, scale, out);
    std::vector<double> vector(static_cast<std::size_t>(form_.d));
    for (std::int64_t j = 0; j < form_.d; ++j)
        vector[static_cast<std::size_t>(j)] = (row[j] - centre[j]) * scale;
    return shorts_->round_row(vector.data(), form_.d, out, out[row_words_]);
}

bool Filter::round_direct(const TileKernels& tiles, const double* row, float* out,
                          double& share) const {
    bool covered = true;
    share = 0;
    if (direct_.coordinates == exact::Coordinates::roots) {
        std::vector<double> roots(static_cast<std::size_t>(form_.d));
        for (std::int64_t j = 0; j < form_.d; ++j) {
            covered &= row[j] == 0 || row[j] >= exact::smallest_covered;
            roots[static_cast<std::size_t>(j)] =
                row[j] < exact::smallest_root_of ? 0 : std::sqrt(row[j]);
        }
        return round(tiles, roots.data(), form_.zero.data(), 1, out).norm2 <
                   std::numeric_limits<double>::infinity() &&
               covered;
    }
    if (direct_.coordinates == exact::Coordinates::indicators) {
        std::vector<double> there(static_cast<std::size_t>(form_.d));
        for (std::int64_t j = 0; j < form_.d; ++j)
            there[static_cast<std::size_t>(j)] = row[j] == 0 ? 0 : 1;
        round(tiles, there.data(), form_.zero.data(), 1, out);
        return true;
    }
    if (direct_.largest < std::numeric_limits<double>::infinity())
        for (std::int64_t j = 0; j < form_.d; ++j) covered &= direct_.covers(row[j]);
    const RowSums s = round(tiles, row, form_.centre.data(), form_.scale, out);
    if (direct_.coordinates == exact::Coordinates::nearest) return covered;
    if (direct_.rounding.power == 0) {
        // Squares of rounding errors may underflow: every coordinate is compared instead.
        const bool bytes = exact::coordinates_per_word(direct_) > 1;
        for (std::int64_t j = 0; j < form_.d; ++j)
            covered &= bytes ? row[j] == std::trunc(row[j])
                             : static_cast<double>(out[j]) == row[j] * form_.scale;
        return covered && !(bytes && s.residual2 > 0);
    }
    const bool centred = is_centred();
    if (!centred && !(s.residual2 > 0)) {
        // Infinite coordinates are exact too. Their residual is NaN, and hides the others'
        // residuals.
        for (std::int64_t j = 0; s.residual2 != s.residual2 && j < form_.d; ++j)
            covered &= static_cast<double>(out[j]) == row[j] * form_.scale;
        return covered;
    }
    share =
        exact::rounded_share(direct_.rounding, rounded_.weight, s.residual2, centred ? s.norm2 : 0);
    return covered && share < largest_share;
}

Filter::PackBuffers::PackBuffers(const Filter& filter)
    : rows(panel_points, filter.form_.d),
      vectors(filter.coarse() ? panel_points * filter.form_.d : 0),
      coordinates(filter.projection_ ? panel_points * filter.projection_->room() : 0),
      rounded(panel_points * std::max(rows.stride(), filter.words_)) {}

void Filter::pack(const MatrixView& points, const DistanceKeys& distance_keys,
                  const TileKernels& tiles, std::int64_t panel, PackBuffers& buffers,
                  Packed& packed) {
    const std::int64_t first = panel * panel_points;
    const std::int64_t count = std::min<std::int64_t>(panel_points, points.rows - first);
    RowBlock& rows = buffers.rows;
    float* const rounded = buffers.rounded.data();
    const std::int64_t stride = std::max(rows.stride(), words_);
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
            if (form_.own == metric::Gemm::none) {
                double share = 0;
                covered = round_direct(tiles, row, to, share) && (share == 0 || is_centred());
                const float paid = round_up(share);
                // An accumulator that is a maximum cannot start lower: the queries pay for the
                // points.
                terms = {direct_.step == Step::chebyshev ? 0.0f : -paid, 2 * paid};
                if (covered) packed.share = std::max(packed.share, paid);
            } else {
                BesideSums beside;
                covered = form_.metric == metric::Gemm::cross_entropy
                              ? form_.make_logarithms(tiles, row, zeros)
                              : form_.make(tiles, row, beside);
                s = round(tiles, row, form_.origin(), form_.scale, to);
                for (const std::int64_t j : zeros) set_lowest(to, j, pairs_ != nullptr);
                covered = covered && s.norm2 <= max_scaled_norm * max_scaled_norm;
                terms = bound_.point(s, beside);
            }
            if (!covered) {
                terms = {nan, 0};
                ++packed.uncovered;
            } else {
                packed.largest = std::max(packed.largest, s.rounded2);
            }
        }
        const std::int64_t made = terms.half_norm < infinity ? row_words_ : 0;
        std::fill_n(to + made, words_ - made, 0.0f);
        out[i] = terms.half_norm;
        out[panel_points + i] = terms.slack;
    }
    tiles.transpose(rounded, stride, words_, out + panel_header);
}

std::shared_ptr<const Filter> Filter::make(const MatrixView& points, const MetricSpec& metric,
                                           Isa isa, int threads, Rounding rounding, bool always,
                                           ProgressMeter& progress, const MatrixView* queries) {
    if (points.cols > max_filter_dimensions || points.rows == 0) return nullptr;
    std::optional<double> least;
    if (keeps_whole(rounding)) least = least_whole(points, metric, isa);
    return make_of(points, metric, isa, threads, rounding, always, least, queries, progress);
}

std::shared_ptr<const Filter> Filter::make_of(const MatrixView& points, const MetricSpec& metric,
                                              Isa isa, int threads, Rounding rounding, bool always,
                                              std::optional<double> least,
                                              const MatrixView* queries, ProgressMeter& progress) {
    const MatrixView& m = points;
    auto filter = std::make_shared<Filter>();
    Filter& f = *filter;
    const metric::Traits traits = metric_traits(metric.id);
    f.form_.own = f.form_.metric =
        rounding == Rounding::direct ? metric::Gemm::none : metric::product_form(traits);
    f.form_.d = m.cols;
    const bool coarse = is_coarse(rounding);
    const bool bf16 =
        rounding == Rounding::bf16 || (coarse && product_rounding(isa, m.cols) == Rounding::bf16);
    f.pairs_ = bf16 ? pair_kernels(isa) : nullptr;
    if (is_bytes(rounding)) {
        f.bytes_ = byte_kernels(isa);
        if (!f.bytes_ || f.form_.own == metric::Gemm::cross_entropy) return nullptr;
    }
    f.form_.centre = f.form_.zero = std::vector<double>(static_cast<std::size_t>(f.form_.d), 0.0);
    const DistanceKeys distance_keys(metric, isa);
    const TileKernels& tiles = tile_kernels(isa);
    double query_norm = 1;
    if (f.form_.own == metric::Gemm::none) {
        const std::optional<exact::DirectForm> direct =
            exact::direct_form(traits, metric.params, points.type);
        if (!direct) return nullptr;
        f.direct_ = *direct;
        f.step_ = f.direct_.step;
        f.rounded_ = exact::rounded_bound(f.direct_.rounding,
                                          exact::direct_bound(f.direct_.error, f.form_.d));
        if (f.direct_.degree > 0) f.choose_scale(points, distance_keys);
    } else if (f.form_.own == metric::Gemm::cosine) {
        if (f.form_.choose_centre(points, distance_keys, tiles) &&
            f.form_.scale >= least_centred_scale) {
            f.form_.own = metric::Gemm::l2;
        } else {
            f.form_.centre = f.form_.zero;
            f.form_.scale = 1;
        }
    } else {
        if (traits.factored) {
            const double* const matrix = metric.params.constants;
            f.form_.factor = exact::factorise({matrix, matrix + f.form_.d * f.form_.d}, f.form_.d,
                                              threads, progress);
            if (f.form_.factor.values.empty()) return nullptr;
        }
        // Principal components of uncentred points include their mean, as queries do.
        const bool centre_dot = !coarse || f.bytes_;
        if (!f.form_.choose_centre(points, distance_keys, tiles, centre_dot)) return nullptr;
        if (f.form_.own == metric::Gemm::cross_entropy) {
            f.form_.own = metric::Gemm::dot;
            query_norm = entropy_norm;
        }
    }
    if (f.bytes_ && f.form_.metric == metric::Gemm::l2 && !f.form_.factored()) {
        // The middle of the range: integers stay exact.
        if (least) f.form_.centre.assign(f.form_.centre.size(), *least + 128);
        else if (whole_bytes(points.type))
            f.form_.centre.assign(f.form_.centre.size(),
                                  points.type == ElementType::u8 ? 128.0 : 0.0);
    }
    if (least) f.whole_.emplace(m.rows, m.cols, *least, whole_form(metric.id), isa);
    if (coarse && !f.choose_coarse(points, distance_keys, isa, threads, always, queries, progress))
        return nullptr;
    const Rounding own = f.pairs_ ? Rounding::bf16 : Rounding::f32;
    if (!f.shorts_) f.bound_ = FilterBound(f.form_.own, f.form_.d, own, query_norm);
    f.row_words_ = f.shorts_ ? exact::ceil_div(f.form_.d, std::int64_t{2}) : f.words_of(f.form_.d);
    f.words_ =
        f.bytes_
            ? f.byte_words()
            : f.tiles(tiles).padded(f.words_of(coarse ? f.projection_->columns() + 1 : f.form_.d));
    f.panels_ = (m.rows + panel_points - 1) / panel_points;
    f.data_ = Buffer<float>(f.panels_ * panel_floats(f.words_));
    if (coarse) {
        if (f.projection_)
            f.coarse_bound_ =
                FilterBound(f.form_.own, f.form_.d, own, query_norm, f.projection_->columns() + 1);
        if (!least) {
            f.rows_ = Buffer<float>(m.rows * f.row_words());
            f.row_terms_ = Buffer<RowTerms>(m.rows);
        }
    }
    const std::int64_t tasks = std::min<std::int64_t>(f.panels_, 16 * threads);
    std::vector<Packed> packed(static_cast<std::size_t>(tasks));
    watched_tasks(threads, tasks, progress, "prepare", [&](std::int64_t task, int worker) {
        const DistanceKeys own(metric, isa);
        PackBuffers buffers(f);
        Packed& known = packed[static_cast<std::size_t>(task)];
        for (std::int64_t p = task * f.panels_ / tasks;
             p < (task + 1) * f.panels_ / tasks && !known.fractions; ++p) {
            if (progress.cancelled()) return;
            if (coarse) f.pack_coarse(points, own, tiles, p, buffers, known);
            else f.pack(points, own, tiles, p, buffers, known);
            if (worker == 0) progress.poll("prepare");
        }
    });
    progress.throw_if_cancelled();
    Packed all;
    for (const Packed& p : packed)
        all = {all.uncovered + p.uncovered, all.fractions || p.fractions,
               std::max(all.largest, p.largest), std::max(all.largest_coarse, p.largest_coarse),
               std::max(all.share, p.share)};
    if (all.fractions)
        return make_of(points, metric, isa, threads, rounding, always, std::nullopt, queries,
                       progress);
    if (f.direct_.step == Step::chebyshev) f.points_share_ = all.share;
    f.bound_.set_largest(std::sqrt(all.largest));
    f.coarse_bound_.set_largest(std::sqrt(all.largest_coarse));
    const double limit =
        std::max(static_cast<double>(few_uncovered), max_uncovered * static_cast<double>(m.rows));
    return static_cast<double>(all.uncovered) > limit ? nullptr : filter;
}

QueryTerms Filter::query(const RowBlock& block, std::int64_t i, const TileKernels& tiles,
                         float* out) const {
    const double* row = block.row(i);
    if (form_.own == metric::Gemm::none) {
        QueryTerms t = direct_terms(exact::direct_bound(direct_.error, form_.d));
        t.scale = std::pow(form_.scale, direct_.degree);
        double share = 0;
        t.usable = round_direct(tiles, row, out, share);
        if (share > 0 || is_centred()) t.growth = rounded_.growth;
        t.error += share + points_share_;
        t.exact = exact::counts_differences(direct_.step);
        return t;
    }
    QueryTerms t = form_.metric == metric::Gemm::cross_entropy
                       ? cross_entropy_query(row, tiles, out)
                       : product_query(row, tiles, out);
    if (!shorts_) flip_signs(out, row_words_);
    return t;
}

void Filter::flip_signs(float* words, std::int64_t count) const {
    const std::uint32_t signs = pairs_ ? 0x80008000 : 0x80000000;
    for (std::int64_t j = 0; j < count; ++j) {
        std::uint32_t word;
        std::memcpy(&word, words + j, sizeof word);
        word ^= signs;
        std::memcpy(words + j, &word, sizeof word);
    }
}

QueryTerms Filter::product_query(const double* row, const TileKernels& tiles, float* out) const {
    if (!form_.factor.values.empty()) {
        std::vector<double> factored(row, row + form_.d);
        const double more = form_.make_factored(tiles, factored.data());
        const RowSums s = round_query(tiles, factored.data(), form_.zero.data(), form_.scale, out);
        QueryTerms t = terms_of(bound_, factored.data(), s, 1, more);
        t.usable = more == more && s.norm2 <= max_scaled_norm * max_scaled_norm;
        return t;
    }
    if (form_.metric == metric::Gemm::l2) {
        const RowSums s = round_query(tiles, row, form_.centre.data(), form_.scale, out);
        QueryTerms t = terms_of(bound_, row, s, 1);
        t.usable = s.norm2 <= max_scaled_norm * max_scaled_norm;
        return t;
    }
    std::vector<double> unit(row, row + form_.d);
    double norm = 0;
    const bool covered = form_.make_unit(unit.data(), norm);
    const bool centred = form_.own == metric::Gemm::l2;
    const double* const from = centred ? form_.centre.data() : form_.zero.data();
    const RowSums s = round_query(tiles, unit.data(), from, centred ? form_.scale : 1, out);
    QueryTerms t = terms_of(bound_, unit.data(), s, norm);
    t.usable = covered && s.norm2 <= max_scaled_norm * max_scaled_norm && (!centred || norm > 0);
    // Squares may underflow, in cosine's norms as well, but not in products.
    const bool dot = form_.metric == metric::Gemm::dot;
    t.alike =
        norm == 0 && (!dot || std::all_of(row, row + form_.d, [](double q) { return q == 0; }));
    return t;
}

QueryTerms Filter::terms_of(const FilterBound& bound, const double* vector, const RowSums& s,
                            double norm, double more) const {
    QueryTerms t = bound.query(s, form_.scale, norm / form_.scale, more);
    if (form_.metric == metric::Gemm::cosine && form_.own == metric::Gemm::l2) {
        // The distance key is half of the squared distance of unit vectors, up to the binary64
        // rounding of both.
        t.scale = form_.scale * form_.scale;
        t.error += 2 * bound_.binary64_error() * form_.scale * form_.scale;
    }
    if (form_.metric == metric::Gemm::dot) {
        // The distance key is -<q, x - c> - <q, c>. The error term covers the binary64 rounding of
        // <q, c>, here and in the key.
        double along = 0, centre2 = 0;
        for (std::int64_t j = 0; j < form_.d; ++j) {
            const double c = form_.centre[static_cast<std::size_t>(j)];
            along += vector[j] * c;
            centre2 += c * c;
        }
        t.offset = along * form_.scale;
        t.error += 2 * bound_.binary64_error() * std::sqrt(centre2) * form_.scale;
    }
    return t;
}

// The distance key is  sum q (log q - c)  -  <q, log x - c>.
QueryTerms Filter::cross_entropy_query(const double* row, const TileKernels& tiles,
                                       float* out) const {
    std::vector<double> unit(row, row + form_.d);
    double norm = 0, sum = 0, size = 0;
    bool covered = form_.make_unit(unit.data(), norm);
    std::vector<double> logs(row, row + form_.d);
    tiles.logarithms(logs.data(), form_.d);
    for (std::int64_t j = 0; j < form_.d; ++j) {
        double& u = unit[static_cast<std::size_t>(j)];
        if (row[j] == 0) continue;
        covered &= row[j] >= smallest_quotient && row[j] <= largest_quotient;
        const double log = logs[static_cast<std::size_t>(j)],
                     c = form_.centre[static_cast<std::size_t>(j)];
        sum += row[j] * (log - c);
        size += row[j] * (1 + std::abs(log) + std::abs(c));
        u = std::max(u, entropy_share);
    }
    const RowSums s = round(tiles, unit.data(), form_.zero.data(), entropy_norm, out);
    QueryTerms t = bound_.query(s, form_.scale, norm / form_.scale);
    t.offset = -sum * t.scale;
    t.error += bound_.binary64_error() * size * t.scale;
    t.usable = covered;
    t.ends_finite = true;
    t.alike = std::all_of(row, row + form_.d, [](double q) { return q == 0; });
    return t;
}

}  // namespace kith::cpu
