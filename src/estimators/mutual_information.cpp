// Mutual information, conditional or not, and transfer entropy, by counts of neighbours in the maximum norm.
#include <algorithm>
#include <cmath>

#include "api/guard.h"
#include "estimators/sample.h"
#include "exact/refuse.h"

namespace kith {

namespace {

using namespace estimators;

// The distance of two rows in the maximum norm, in binary64 as a search has it.
double distance(const Sample& sample, std::int64_t i, std::int64_t j) {
    double most = 0;
    for (std::int64_t c = 0; c < sample.d; ++c)
        most = std::max(most, std::fabs(sample.values[static_cast<std::size_t>(i * sample.d + c)] -
                                        sample.values[static_cast<std::size_t>(j * sample.d + c)]));
    return most;
}

// What is counted within: of each sample a radius, all balls open or all closed. Samples with k or more equal ones (in
// all variables) are apart: their balls are points, closed, and k is how many equal ones there are.
class Balls {
public:
    Balls(const Sample& all, std::int64_t k, const Options& options)
        : options_(options), near_(graph(all.view(), k, options)), k_(static_cast<std::size_t>(all.n), k) {
        radii_.resize(k_.size());
        bool any = false;
        for (std::size_t i = 0; i < radii_.size(); ++i) {
            radii_[i] = near_.distances64[(i + 1) * static_cast<std::size_t>(k) - 1];
            any |= radii_[i] == 0;
        }
        if (!any) return;
        const std::vector<std::int64_t> equal = equal_counts(all);
        for (std::size_t i = 0; i < radii_.size(); ++i)
            if (radii_[i] == 0) k_[i] = equal[i];
    }

    const Neighbors& neighbors() const { return near_; }
    bool point(std::size_t i) const { return radii_[i] == 0; }
    std::int64_t k(std::size_t i) const { return k_[i]; }

    // Others within the balls in some of the variables: in open balls, or closed ones of radii of their own.
    std::vector<std::int64_t> count_open(const Sample& part) const { return counted(part, radii_, true); }
    std::vector<std::int64_t> count_closed(const Sample& part, const std::vector<double>& radii) const {
        return counted(part, radii, false);
    }

private:
    std::vector<std::int64_t> counted(const Sample& part, const std::vector<double>& radii, bool open) const {
        std::vector<std::int64_t> counts = counts_within(part, radii, open, options_);
        if (!open || std::none_of(radii_.begin(), radii_.end(), [](double r) { return r == 0; })) return counts;
        const std::vector<std::int64_t> equal = equal_counts(part);
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (point(i)) counts[i] = equal[i];
        return counts;
    }

    const Options& options_;
    Neighbors near_;
    std::vector<std::int64_t> k_;
    std::vector<double> radii_;
};

void check_rows(const Sample& x, const Sample& other, const char* what) {
    if (other.n != x.n) refuse("{}: {} samples beside {} of x", what, other.n, x.n);
}

std::vector<double> first_form(const Sample& x, const Sample& y, const Balls& balls) {
    const std::vector<std::int64_t> in_x = balls.count_open(x), in_y = balls.count_open(y);
    std::vector<double> terms(in_x.size());
    for (std::size_t i = 0; i < terms.size(); ++i)
        terms[i] = digamma(balls.k(i)) - digamma(in_x[i] + 1) - digamma(in_y[i] + 1);
    return terms;
}

std::vector<double> second_form(const Sample& x, const Sample& y, std::int64_t k, const Balls& balls) {
    const auto extents = [&](const Sample& part) {
        std::vector<double> out(static_cast<std::size_t>(part.n));
        for (std::int64_t i = 0; i < part.n; ++i)
            for (std::int64_t j = 0; j < k; ++j)
                out[static_cast<std::size_t>(i)] =
                    std::max(out[static_cast<std::size_t>(i)],
                             distance(part, i, balls.neighbors().ids[static_cast<std::size_t>(i * k + j)]));
        return out;
    };
    const std::vector<std::int64_t> in_x = balls.count_closed(x, extents(x)), in_y = balls.count_closed(y, extents(y));
    std::vector<double> terms(in_x.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        terms[i] = balls.point(i) ? digamma(balls.k(i)) - digamma(in_x[i] + 1) - digamma(in_y[i] + 1)
                                  : digamma(k) - 1 / static_cast<double>(k) - digamma(in_x[i]) - digamma(in_y[i]);
    }
    return terms;
}

Estimate conditional(const Sample& x, const Sample& y, const Sample& z, std::int64_t k, const Options& options) {
    const Options search_as = in_maximum_norm(options);
    const Balls balls(joined({&x, &y, &z}), k, search_as);
    const std::vector<std::int64_t> in_xz = balls.count_open(joined({&x, &z})),
                                    in_yz = balls.count_open(joined({&y, &z})), in_z = balls.count_open(z);
    std::vector<double> terms(in_z.size());
    for (std::size_t i = 0; i < terms.size(); ++i)
        terms[i] = digamma(balls.k(i)) - digamma(in_xz[i] + 1) - digamma(in_yz[i] + 1) + digamma(in_z[i] + 1);
    return mean_of(terms, 0, 0);
}

// Rows t - 1, ..., t - lags of `sample` side by side, for t from `first` on.
Sample past(const Sample& sample, std::int64_t lags, std::int64_t first) {
    Sample out = rows_of(sample, first - 1, sample.n - first);
    for (std::int64_t lag = 2; lag <= lags; ++lag) {
        const Sample earlier = rows_of(sample, first - lag, sample.n - first);
        out = joined({&out, &earlier});
    }
    return out;
}

}  // namespace

Estimate mutual_information(const MatrixView& x, const MatrixView& y, std::int64_t k, KraskovForm form,
                            const Options& options) {
    return api::guarded([&] {
        const Options search_as = in_maximum_norm(options);
        Sample a = sample_of(x, "x"), b = sample_of(y, "y");
        check_rows(a, b, "y");
        check_k(k, a.n - 1, "fewer than the samples");
        scale_together({&a, &b});
        const Balls balls(joined({&a, &b}), k, search_as);
        return mean_of(form == KraskovForm::first ? first_form(a, b, balls) : second_form(a, b, k, balls), digamma(a.n),
                       0);
    });
}

Estimate conditional_mutual_information(const MatrixView& x, const MatrixView& y, const MatrixView& z, std::int64_t k,
                                        const Options& options) {
    return api::guarded([&] {
        const Sample a = sample_of(x, "x"), b = sample_of(y, "y"), c = sample_of(z, "z");
        check_rows(a, b, "y");
        check_rows(a, c, "z");
        check_k(k, a.n - 1, "fewer than the samples");
        return conditional(a, b, c, k, options);
    });
}

Estimate transfer_entropy(const MatrixView& source, const MatrixView& target, std::int64_t k, std::int64_t source_lags,
                          std::int64_t target_lags, const Options& options) {
    return api::guarded([&] {
        const Sample from = sample_of(source, "source"), to = sample_of(target, "target");
        if (to.n != from.n) refuse("target: {} samples beside {} of source", to.n, from.n);
        if (source_lags < 1) refuse("source_lags: {}; expected at least 1", source_lags);
        if (target_lags < 1) refuse("target_lags: {}; expected at least 1", target_lags);
        const std::int64_t first = std::max(source_lags, target_lags);
        if (first >= to.n)
            refuse("{}_lags: {}; expected fewer than the {} samples", first == source_lags ? "source" : "target", first,
                   to.n);
        check_k(k, to.n - first - 1, "fewer than the samples that have so many before them");
        return conditional(rows_of(to, first, to.n - first), past(from, source_lags, first),
                           past(to, target_lags, first), k, options);
    });
}

}  // namespace kith
