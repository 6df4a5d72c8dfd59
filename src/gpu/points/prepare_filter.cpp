// Chooses centre, scale and bound of a filter's form; see prepare_filter.h.
#include "gpu/points/prepare_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "exact/bounds/direct_scale.h"
#include "exact/linear/factor.h"
#include "exact/rounding.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/direct/bit_panels.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/few_values.h"
#include "gpu/points/prepare_formula.h"
#include "gpu/points/sample.h"

namespace kith::gpu {

namespace {

// A stride that is coprime to n, near its golden section: any run of multiples is spread evenly.
std::uint32_t spread(std::int64_t n) {
    auto stride = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(n));
    while (stride > 1 && std::gcd(stride, n) != 1) --stride;
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, stride));
}

void set_centre(FilterVectors& out, const std::vector<double>& centre, cudaStream_t stream) {
    out.centre = Buffer<double>(std::ssize(centre), stream);
    out.form.centre = out.centre.get();
    InFlight reading(stream);
    check(cudaMemcpyAsync(out.centre.get(), centre.data(), centre.size() * sizeof(double),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("sample");
}

// Centre, scale and kappa from a sample of the points, without far outliers. They affect how tight
// the bound is, not the answer.
class SampledForm {
public:
    // Wide rows need fewer: their norms differ less. They are read by the host, row by row.
    static std::int64_t sampled_rows(std::int64_t n, std::int64_t d) {
        constexpr std::int64_t least = 48, most = 128, values = 1 << 15;
        return std::min(n, std::clamp(values / d, least, most));
    }

    SampledForm(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                cudaStream_t stream)
        : points_(points),
          metric_(metric),
          out_(out),
          form_(out.form),
          d_(metric.params.d),
          stream_(stream) {
        take();
        if (form_.unit) {
            make_unit();
            if (!choose_unit_centre()) return;
        } else {
            const bool entropy = form_.gemm == metric::Gemm::cross_entropy;
            if (entropy) centre_logarithms();
            typical_ = typical();
            if (form_.gemm == metric::Gemm::l2) choose_centre();
            if (form_.gemm == metric::Gemm::dot) choose_product_centre();
            const int near = entropy ? entropy_exponent(form_.terms) : 5;
            if (typical_ > 0) form_.scale = power_of_two(near - std::ilogb(typical_), 400);
        }
        choose_kappa();
    }

private:
    // A scale that brings the typical norm near 32. It is exact, and leaves fp16 room above for
    // points of a thousand times that norm, and below for small coordinates. Beyond the limits
    // binary64 squares, and so distance keys, would lose bits.
    static double power_of_two(int exponent, int most) {
        return std::ldexp(1.0, std::clamp(exponent, -400, most));
    }
    double* row(std::int64_t s) { return rows_.data() + s * d_; }

    // The coordinates of the sample. They are taken after the factor if the form has a centre,
    // which is subtracted before it.
    void take() {
        FilterForm form = form_;
        if (!form.centre) form.factor.matrix = nullptr;
        rows_ = sample_of(points_, *metric_.kernels, form, samples_, metric_.params, stream_);
        measure();
    }
    static double length(double squares) {
        const double norm = std::sqrt(squares);
        return std::isfinite(norm) ? norm : std::numeric_limits<double>::infinity();
    }
    // The norms of all rows.
    void measure() {
        norms_.resize(static_cast<std::size_t>(samples_));
        for (std::int64_t s = 0; s < samples_; ++s) {
            const double* const x = row(s);
            double squares = 0;
#pragma omp simd reduction(+ : squares)
            for (std::int64_t i = 0; i < d_; ++i) squares += x[i] * x[i];
            norms_[static_cast<std::size_t>(s)] = length(squares);
        }
    }
    double norm(std::int64_t s) const {
        return norms_[static_cast<std::size_t>(s)];
    }
    // The median norm of finite non-zero rows; 0 if there are none.
    double typical() {
        std::vector<double> norms;
        for (std::int64_t s = 0; s < samples_; ++s)
            if (const double size = norm(s); size > 0 && std::isfinite(size)) norms.push_back(size);
        return norms.empty() ? 0 : exact::middle(norms);
    }
    // Subtracts the mean of rows that are not much longer than the typical one, then repeats with
    // the shifted rows. Rows of zeros among others around a mean are as short as these at first,
    // and far away after the shift.
    std::vector<double> take_off_mean(double most) {
        std::vector<double> mean = take_off_mean_within(most);
        for (int again = 0; again < 2; ++again) {
            const std::vector<double> more = take_off_mean_within(4 * typical());
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += more[i];
        }
        return mean;
    }
    std::vector<double> take_off_mean_within(double most) {
        std::vector<double> mean(static_cast<std::size_t>(d_));
        double count = 0;
        for (std::int64_t s = 0; s < samples_; ++s) {
            if (!(norm(s) <= most)) continue;
            const double* const x = row(s);
            double* const sum = mean.data();
#pragma omp simd
            for (std::int64_t i = 0; i < d_; ++i) sum[i] += x[i];
            count += 1;
        }
        for (double& m : mean) m /= std::max(count, 1.0);
        shift(mean);
        return mean;
    }
    void shift(const std::vector<double>& by) {
        const double* const away = by.data();
        for (std::int64_t s = 0; s < samples_; ++s) {
            double* const x = row(s);
            double squares = 0;
#pragma omp simd reduction(+ : squares)
            for (std::int64_t i = 0; i < d_; ++i) {
                x[i] -= away[i];
                squares += x[i] * x[i];
            }
            norms_[static_cast<std::size_t>(s)] = length(squares);
        }
    }
    void use(const std::vector<double>& centre) {
        set_centre(out_, centre, stream_);
    }
    void choose_centre() {
        std::vector<double> centre = take_off_mean(4 * typical_);
        typical_ = typical();
        if (metric_.kernels->traits.factored) {
            use(centre);
            take();
            typical_ = typical();
            return;
        }
        make_coarse(centre);
        use(centre);
    }
    // Rounds the centre to a coarse grid. That costs the bound nothing, and data of few bits keep
    // coordinates that fp16 holds exactly.
    void make_coarse(std::vector<double>& centre) {
        if (!(typical_ > 0)) return;
        const double grid =
            std::ldexp(1.0, std::ilogb(typical_ / std::sqrt(static_cast<double>(d_))) - 2);
        std::vector<double> change = centre;
        for (double& c : centre) c = std::nearbyint(c / grid) * grid;
        for (std::size_t i = 0; i < change.size(); ++i) change[i] = centre[i] - change[i];
        shift(change);
        typical_ = typical();
    }
    // If the mean is most of the typical point, products are taken of centred points, and of
    // equally centred queries of that length.
    void choose_product_centre() {
        const double whole = typical_;
        if (!(whole > 0)) return;
        std::vector<double> centre = take_off_mean(4 * whole);
        typical_ = typical();
        if (!(typical_ <= tuning::centred_share * whole)) {
            for (double& c : centre) c = -c;
            shift(centre);
            typical_ = whole;
            return;
        }
        make_coarse(centre);
        use(centre);
        form_.centre_norm =
            std::sqrt(std::inner_product(centre.begin(), centre.end(), centre.begin(), 0.0));
        if (form_.terms > 1 || whole > tuning::most_shifted_share * typical_) return;
        form_.gemm = metric::Gemm::l2;
        form_.product_norm = whole;
    }
    // Subtracts the median of each coordinate's logarithms. Coordinates without a logarithm do not
    // count.
    void centre_logarithms() {
        std::vector<double> centre(static_cast<std::size_t>(d_)), column;
        const auto there = [](double log) { return std::abs(log) <= largest_logarithm; };
        for (std::int64_t i = 0; i < d_; ++i) {
            column.clear();
            for (std::int64_t s = 0; s < samples_; ++s)
                if (there(row(s)[i])) column.push_back(row(s)[i]);
            if (!column.empty()) centre[static_cast<std::size_t>(i)] = exact::middle(column);
            for (std::int64_t s = 0; s < samples_; ++s)
                row(s)[i] =
                    there(row(s)[i]) ? row(s)[i] - centre[static_cast<std::size_t>(i)] : 0.0;
        }
        measure();
        use(centre);
    }
    // Rows without a direction become NaN, which nothing below counts.
    void make_unit() {
        for (std::int64_t s = 0; s < samples_; ++s) {
            const double size = norm(s);
            for (std::int64_t i = 0; i < d_; ++i)
                row(s)[i] = size > 0 && std::isfinite(size)
                                ? row(s)[i] / size
                                : std::numeric_limits<double>::quiet_NaN();
        }
        measure();
    }
    // Centres unit vectors if the typical centred vector is short. Half of their squared distance
    // is their cosine distance.
    bool choose_unit_centre() {
        // A unit vector is at most 2 from the mean: scaled by 2^14 it is within fp16's 65,504.
        constexpr int most_scale = 14;
        const std::vector<double> centre = take_off_mean(2);
        typical_ = typical();
        if (!(typical_ > 0 && typical_ <= tuning::centred_share)) return false;
        form_.gemm = metric::Gemm::l2;
        form_.scale = power_of_two(5 - std::ilogb(typical_), most_scale);
        use(centre);
        return true;
    }
    // The typical relative rounding residual, over about `rounded` coordinates of all rows and
    // columns.
    void choose_kappa() {
        constexpr std::int64_t rounded = 1 << 12;
        const std::int64_t step = std::max<std::int64_t>(1, samples_ * d_ / rounded);
        double squares = 0, residuals = 0;
        for (std::int64_t s = 0; s < samples_; ++s) {
            if (!(norm(s) <= 4 * typical_)) continue;
            for (std::int64_t i = s * step / samples_; i < d_; i += step) {
                const double x = row(s)[i] * form_.scale, first = half(x);
                const double rest = x - first, left = form_.terms == 1 ? rest : rest - half(rest);
                squares += x * x;
                residuals += left * left;
            }
        }
        const double kappa = std::sqrt(residuals / squares);
        if (std::isfinite(kappa)) form_.kappa = std::max(kappa, form_.kappa);
    }
    static double half(double x) {
        return static_cast<double>(__half2float(__double2half(x)));
    }

    const DeviceRows& points_;
    const DeviceMetric& metric_;
    FilterVectors& out_;
    FilterForm& form_;
    std::int64_t d_;
    cudaStream_t stream_;
    std::int64_t samples_ = sampled_rows(points_.rows.count, d_);
    std::vector<double> rows_, norms_;
    double typical_ = 0;
};

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
        SampledForm(points, metric, out, stream);
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

void prepare_direct(const DeviceRows& points, const DeviceMetric& metric, bool tries_coarse,
                    FilterVectors& out, cudaStream_t stream) {
    FilterForm& form = out.form;
    const exact::DirectForm words =
        gpu_direct_form(metric.kernels->traits, metric.params, points.rows.type).value();
    std::optional<exact::DirectForm> coarse =
        tries_coarse ? exact::coarse_form(metric.kernels->traits, metric.params) : std::nullopt;
    const std::int64_t samples = std::min<std::int64_t>(points.rows.count, 64), d = metric.params.d;
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
    set_direct(words, metric.params, form);
    form.scale = exact::direct_scale(words, sample);
    if (words.coordinates == exact::Coordinates::rounded)
        set_centre(out, exact::direct_centre(sample, form.scale), stream);
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
