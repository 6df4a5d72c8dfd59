// Chooses centre, scale and bound of a filter's form; see prepare_filter.h.
#include "gpu/points/prepare_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "exact/bounds/direct_scale.h"
#include "exact/rounding.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/direct/bit_panels.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/few_values.h"
#include "gpu/points/formula/prepare_formula.h"
#include "gpu/points/sample.h"
#include "gpu/points/sampled_form.h"

namespace kith::gpu {

namespace {

// A stride that is coprime to n, near its golden section: any run of multiples is spread evenly.
std::uint32_t spread(std::int64_t n) {
    auto stride = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(n));
    while (stride > 1 && std::gcd(stride, n) != 1) --stride;
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, stride));
}

}  // namespace

bool has_filter(const DeviceMetric& metric, ElementType points, FilterKind kind) {
    if (metric.spec.formula) return kind == FilterKind::direct && points != ElementType::f64;
    if (!metric.kernels) return false;
    const metric::Traits& traits = metric.kernels->traits;
    if (kind == FilterKind::one_term || kind == FilterKind::two_terms)
        return metric::product_form(traits) != metric::Gemm::none;
    return gpu_direct_form(traits, metric.params, points).has_value();
}

namespace {

void prepare_product(const DeviceRows& points, const DeviceMetric& metric, int terms,
                     FilterVectors& out, cudaStream_t stream) {
    FilterForm& form = out.form;
    form.gemm = metric::product_form(metric.kernels->traits);
    form.factor = metric.factor;
    form.terms = terms;
    form.width = filter_width(metric.params.d, terms);
    form.gamma = filter_gamma(form.width + augmented_step);
    form.unit = form.gemm == metric::Gemm::cosine;
    // Rounding that costs less than accumulation is negligible.
    form.kappa = form.gamma / 2;
    if (form.unit) form.scale = 32;
    if (!metric.kernels->traits.factored || form.factor.matrix)
        choose_from_sample(points, metric, out, stream);
    if (form.gemm == metric::Gemm::cross_entropy) use_entropies(form);
    else if (form.gemm != metric::Gemm::l2) form.query_scale = 32;
}

// Sets the bound of a direct form, and the words of its rows.
void set_direct(const exact::DirectForm& direct, const metric::Params& params, FilterForm& form) {
    form.direct = direct;
    form.width = exact::counts_bits(direct.step) ? bits_width(direct, params.d)
                                                 : direct_width(direct, params.d);
    if (exact::counts_differences(direct.step)) {
        // Sums of both rows' bits or coordinates, with the fraction, fit f32's 24 bits.
        const std::int64_t most =
            direct.step == exact::Step::mismatched_bits ? 2 * 32 * form.width : params.d + 1;
        form.tie_classes =
            static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>((1 << 23) / most)));
    }
    const exact::DirectBound bound = exact::direct_bound(direct.error, params.d);
    form.growth = exact::round_up(bound.growth);
    form.lost = exact::round_up(bound.lost);
    if (direct.rounding.power > 0) {
        const exact::RoundedBound rounded = exact::rounded_bound(direct.rounding, bound);
        form.rounded_growth = exact::round_up(rounded.growth);
        form.rounded_weight = rounded.weight;
    } else if (direct.coordinates == exact::Coordinates::shares) {
        // The error is absolute, and a value may be negative.
        form.growth = form.rounded_growth = 1;
        form.rounded_weight = exact::share_weight(params.d);
    } else {
        form.rounded_growth = form.growth;
    }
    if (exact::has_centre(direct.coordinates)) form.growth = form.rounded_growth;
}

// Sets the form of words, their scale and centre.
void set_words(const exact::DirectForm& words, const exact::DirectSample& sample,
               const DeviceMetric& metric, FilterVectors& out, cudaStream_t stream) {
    set_direct(words, metric.params, out.form);
    out.form.scale = exact::direct_scale(words, sample);
    if (words.coordinates == exact::Coordinates::rounded)
        set_centre(out, exact::direct_centre(sample, out.form.scale), stream);
}

// Rows that scale and centre of a direct form follow from.
constexpr std::int64_t sampled_words = 64;

void prepare_direct(const DeviceRows& points, const DeviceMetric& metric, bool tries_coarse,
                    FilterVectors& out, cudaStream_t stream) {
    FilterForm& form = out.form;
    const exact::DirectForm words =
        gpu_direct_form(metric.kernels->traits, metric.params, points.rows.type).value();
    std::optional<exact::DirectForm> coarse =
        tries_coarse ? exact::coarse_form(metric.kernels->traits, metric.params) : std::nullopt;
    const std::int64_t samples = std::min(points.rows.count, sampled_words), d = metric.params.d;
    std::vector<double> rows;
    const bool whole = points.rows.type == ElementType::u8 || points.rows.type == ElementType::i8;
    if (words.degree > 0 || (coarse && !(whole && exact::is_whole(coarse->coordinates))))
        rows = sample_of(points, *metric.kernels, form, samples, metric.params, stream);
    const exact::DirectSample sample{rows.data(), samples, d, d};
    if (coarse) {
        if (const auto scale = exact::coarse_scale(*coarse, sample, points.rows.type)) {
            if (scale->split > 0) coarse->rounding = exact::rounding_cost(*coarse, d, scale->split);
            set_direct(*coarse, metric.params, form);
            form.scale = scale->scale;
            if (!scale->centre.empty()) set_centre(out, scale->centre, stream);
            return;
        }
    }
    set_words(words, sample, metric, out, stream);
}

// Mismatch counts of categorical coordinates (few values) as bits. Returns false if coordinates
// have too many values, in a sample or in all points.
bool prepare_few_values(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                        cudaStream_t stream) {
    const exact::Step step = out.form.direct.step;
    if (step != exact::Step::mismatches && step != exact::Step::mismatched_bytes) return false;
    const std::int64_t n = points.rows.count, d = metric.params.d;
    CommonValues common = common_values(points.prepared(), d, stream);
    const FilterForm words = out.form;
    const double most = tuning::most_other_values(d);
    double before = 1;
    for (std::size_t p = 0; p < common.other.size(); ++p) {
        const double other = common.other[p];
        // More values help if the sample has more.
        if (other * static_cast<double>(d) > most || other >= before) continue;
        before = other;
        out.form = words;
        set_direct(exact::few_valued_form(2 << p), metric.params, out.form);
        out.form.values = common.table.get();
        fill_filter(points, metric, out, stream);
        // The table contains the sample's own rare values: only all rows show how many other values
        // there are.
        const OtherValues found =
            other_values(out.point_error.get(), n, tuning::loose_row * most, stream);
        if (static_cast<double>(found.total) <= most * static_cast<double>(n) &&
            found.loose <= tuning::most_loose_rows) {
            out.values = std::move(common.table);
            return true;
        }
    }
    out.form = words;
    return false;
}

}  // namespace

void fill_filter(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                 cudaStream_t stream) {
    const std::int64_t n = points.rows.count;
    if (out.vectors.size() != vector_bytes(out.form, n)) {
        out.vectors = {};  // of a form that did not serve
        out.vectors = Buffer<char>(vector_bytes(out.form, n), stream);
        out.half_norm = Buffer<float>(whole_tiles(n), stream);
        out.point_error = Buffer<float>(whole_tiles(n), stream);
    }
    if (!metric.kernels) {
        formula_points(points.prepared(), out, out.vectors.get(), out.half_norm.get(),
                       out.point_error.get(), metric.params, stream);
        return;
    }
    const bool entropies = out.form.least > 0,
               products = !out.form.is_direct() && metric.kernels->traits.gemm == metric::Gemm::dot;
    Buffer<int> unknown(entropies || products ? 1 : 0, stream);
    FilterForm form = out.form;
    if (entropies || products) {
        unknown.clear_to(0);
        form.unknown = unknown.get();
    }
    metric.kernels->filter_points(points.prepared(), form, out.vectors.get(), out.half_norm.get(),
                                  out.point_error.get(), metric.params, stream);
    if ((!entropies && !products) || fetched(unknown, stream).front() != 0) return;
    if (products) out.form.finite_points = true;
    else out.form.farthest = farthest_value(form);
}

FilterVectors prepare_form(const DeviceRows& points, const DeviceMetric& metric,
                           cudaStream_t stream) {
    FilterVectors out;
    out.form.stride = spread(points.rows.count);
    prepare_product(points, metric, 1, out, stream);
    return out;
}

FilterVectors prepare_words_form(const exact::DirectForm& words, const DeviceRows& points,
                                 const DeviceMetric& metric, cudaStream_t stream) {
    FilterVectors out;
    const std::int64_t samples = std::min(points.rows.count, sampled_words), d = metric.params.d;
    std::vector<double> rows;
    if (words.degree > 0)
        rows = sample_of(points, *metric.kernels, out.form, samples, metric.params, stream);
    set_words(words, {rows.data(), samples, d, d}, metric, out, stream);
    out.form.tie_classes = 0;
    return out;
}

FilterVectors prepare_words(const DeviceRows& points, const DeviceMetric& metric,
                            cudaStream_t stream) {
    FilterVectors out = prepare_words_form(
        gpu_direct_form(metric.kernels->traits, metric.params, points.rows.type).value(), points,
        metric, stream);
    fill_filter(points, metric, out, stream);
    return out;
}

FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, FilterKind kind,
                             cudaStream_t stream) {
    FilterVectors out;
    out.form.stride = spread(points.rows.count);
    if (metric.spec.formula) {
        set_formula_form(points, metric, out, stream);
    } else if (kind == FilterKind::direct || kind == FilterKind::direct_coarse) {
        prepare_direct(points, metric, kind == FilterKind::direct_coarse, out, stream);
        if (prepare_few_values(points, metric, out, stream)) return out;
    } else {
        prepare_product(points, metric, kind == FilterKind::one_term ? 1 : 2, out, stream);
    }
    fill_filter(points, metric, out, stream);
    return out;
}

}  // namespace kith::gpu
