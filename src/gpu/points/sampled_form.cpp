// See sampled_form.h.
#include "gpu/points/sampled_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "exact/bounds/direct_scale.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/sample.h"

namespace kith::gpu {

void set_centre(FilterVectors& out, const std::vector<double>& centre, cudaStream_t stream) {
    out.centre = Buffer<double>(std::ssize(centre), stream);
    out.form.centre = out.centre.get();
    InFlight reading(stream);
    check(cudaMemcpyAsync(out.centre.get(), centre.data(), centre.size() * sizeof(double),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("sample");
}

namespace {

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

void choose_from_sample(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                        cudaStream_t stream) {
    SampledForm(points, metric, out, stream);
}

}  // namespace kith::gpu
