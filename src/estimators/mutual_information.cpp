// Mutual information, conditional or not, and transfer entropy, by counts of neighbours in the
// maximum norm.
#include <algorithm>
#include <cmath>
#include <utility>

#include "api/guard.h"
#include "api/request.h"
#include "estimators/bootstrap.h"
#include "estimators/counts.h"
#include "estimators/parallel.h"
#include "estimators/sample.h"
#include "estimators/terms.h"
#include "exact/refuse.h"
#include "exact/room.h"

namespace kith {

namespace {

using namespace estimators;

// The distance of two rows in the maximum norm, in binary64 as a search has it.
double distance(const Sample& sample, std::int64_t i, std::int64_t j) {
    double most = 0;
    for (std::int64_t c = 0; c < sample.d; ++c)
        most = std::max(most, std::fabs(sample.row(i)[c] - sample.row(j)[c]));
    return most;
}

// What is counted within: of each sample a radius, all balls open or all closed. Samples with k or
// more equal ones (in all variables) are apart: their balls are points, closed, and k is how many
// equal ones there are.
class Balls {
public:
    Balls(const Sample& all, std::int64_t k, const Options& options)
        : options_(options),
          near_(graph(all.view(), k, options)),
          k_(static_cast<std::size_t>(all.n), k) {
        radii_.resize(k_.size());
        bool any = false;
        for (std::size_t i = 0; i < radii_.size(); ++i) {
            radii_[i] = near_.distances64[(i + 1) * static_cast<std::size_t>(k) - 1];
            any |= radii_[i] == 0;
        }
        if (!any) return;
        const std::vector<std::int64_t> equal = equal_counts(all, threads());
        for (std::size_t i = 0; i < radii_.size(); ++i)
            if (radii_[i] == 0) k_[i] = equal[i];
    }

    const Neighbors& neighbors() const { return near_; }
    bool point(std::size_t i) const { return radii_[i] == 0; }
    std::int64_t k(std::size_t i) const { return k_[i]; }
    int threads() const { return api::threads_of(options_); }

    // Others within the balls in some of the variables: in open balls, or closed ones of radii of
    // their own.
    std::vector<std::int64_t> count_open(const Sample& part) const {
        return counted(part, radii_, true);
    }
    std::vector<std::int64_t> count_closed(const Sample& part,
                                           const std::vector<double>& radii) const {
        return counted(part, radii, false);
    }

private:
    std::vector<std::int64_t> counted(const Sample& part, const std::vector<double>& radii,
                                      bool open) const {
        std::vector<std::int64_t> counts = counts_within(part, radii, open, options_);
        if (!open || std::none_of(radii_.begin(), radii_.end(), [](double r) { return r == 0; }))
            return counts;
        const std::vector<std::int64_t> equal = equal_counts(part, threads());
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

// term(i) of all samples.
template <class F>
std::vector<double> terms_of(const Balls& balls, std::int64_t n, const F& term) {
    std::vector<double> terms(static_cast<std::size_t>(n));
    for_ranges(balls.threads(), n, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            terms[i] = term(i);
    });
    return terms;
}

std::vector<double> first_form(const Sample& x, const Sample& y, const Balls& balls) {
    const std::vector<std::int64_t> in_x = balls.count_open(x), in_y = balls.count_open(y);
    return terms_of(balls, x.n, [&](std::size_t i) {
        return digamma(balls.k(i)) - digamma(in_x[i] + 1) - digamma(in_y[i] + 1);
    });
}

std::vector<double> second_form(const Sample& x, const Sample& y, std::int64_t k,
                                const Balls& balls) {
    const auto extents = [&](const Sample& part) {
        return terms_of(balls, part.n, [&](std::size_t i) {
            const std::int64_t* const near =
                balls.neighbors().ids.data() + i * static_cast<std::size_t>(k);
            double extent = 0;
            for (std::int64_t j = 0; j < k; ++j)
                extent = std::max(extent, distance(part, static_cast<std::int64_t>(i), near[j]));
            return extent;
        });
    };
    const std::vector<std::int64_t> in_x = balls.count_closed(x, extents(x)),
                                    in_y = balls.count_closed(y, extents(y));
    return terms_of(balls, x.n, [&](std::size_t i) {
        return balls.point(i)
                   ? digamma(balls.k(i)) - digamma(in_x[i] + 1) - digamma(in_y[i] + 1)
                   : digamma(k) - 1 / static_cast<double>(k) - digamma(in_x[i]) - digamma(in_y[i]);
    });
}

Estimate information_of(const Sample& x, const Sample& y, std::int64_t k, KraskovForm form,
                        const Options& search_as) {
    const Balls balls(joined({&x, &y}, api::threads_of(search_as)), k, search_as);
    return mean_of(
        form == KraskovForm::first ? first_form(x, y, balls) : second_form(x, y, k, balls),
        digamma(x.n), 0);
}

Estimate conditional_of(const Sample& x, const Sample& y, const Sample& z, std::int64_t k,
                        const Options& search_as) {
    const int threads = api::threads_of(search_as);
    const Balls balls(joined({&x, &y, &z}, threads), k, search_as);
    const std::vector<std::int64_t> in_xz = balls.count_open(joined({&x, &z}, threads)),
                                    in_yz = balls.count_open(joined({&y, &z}, threads)),
                                    in_z = balls.count_open(z);
    const auto term = [&](std::size_t i) {
        return digamma(balls.k(i)) - digamma(in_xz[i] + 1) - digamma(in_yz[i] + 1) +
               digamma(in_z[i] + 1);
    };
    return mean_of(terms_of(balls, x.n, term), 0, 0);
}

// `bootstrap` is checked.
Estimate conditional(Sample x, Sample y, Sample z, std::int64_t k, const Options& search_as,
                     const Bootstrap& bootstrap) {
    const int threads = api::threads_of(search_as);
    scale_exactly({&x, &y, &z}, threads);
    return with_error(conditional_of(x, y, z, k, search_as), {x.n}, bootstrap, search_as,
                      [&](const Rows& rows, const Options& of_part) {
                          return conditional_of(rows_of(x, rows[0], threads),
                                                rows_of(y, rows[0], threads),
                                                rows_of(z, rows[0], threads), k, of_part);
                      });
}

// Rows t - 1, ..., t - lags of `sample`, which messages call `what`, side by side, for t from
// `first` on.
Sample past(const Sample& sample, std::int64_t lags, std::int64_t first, const char* what,
            int threads) {
    Sample out{sample.n - first, sample.d * lags, {}};
    require_cells(out.n, out.d, sizeof(double), [&] {
        return fmt::format("{}_lags: {}, the past of each of {} rows,", what, lags, out.n);
    });
    out.values.resize(static_cast<std::size_t>(out.n * out.d));
    for_ranges(threads, out.n, [&](std::int64_t from, std::int64_t to) {
        double* at = out.values.data() + from * out.d;
        for (std::int64_t i = from; i < to; ++i)
            for (std::int64_t lag = 1; lag <= lags; ++lag)
                at = std::copy_n(sample.row(first + i - lag), sample.d, at);
    });
    return out;
}

}  // namespace

Estimate mutual_information(const MatrixView& x, const MatrixView& y, std::int64_t k,
                            KraskovForm form, const Options& options, const Bootstrap& bootstrap) {
    return api::guarded([&] {
        const Options search_as = in_maximum_norm(options);
        const int threads = api::threads_of(options);
        Sample a = sample_of(x, "x", threads), b = sample_of(y, "y", threads);
        check_rows(a, b, "y");
        check_k(k, a.n - 1, "fewer than the samples");
        const Bootstrap as = checked(bootstrap, {a.n}, k);
        scale_exactly({&a, &b}, threads);
        return with_error(information_of(a, b, k, form, search_as), {a.n}, as, search_as,
                          [&](const Rows& rows, const Options& of_part) {
                              return information_of(rows_of(a, rows[0], threads),
                                                    rows_of(b, rows[0], threads), k, form, of_part);
                          });
    });
}

Estimate conditional_mutual_information(const MatrixView& x, const MatrixView& y,
                                        const MatrixView& z, std::int64_t k, const Options& options,
                                        const Bootstrap& bootstrap) {
    return api::guarded([&] {
        const Options search_as = in_maximum_norm(options);
        const int threads = api::threads_of(options);
        Sample a = sample_of(x, "x", threads), b = sample_of(y, "y", threads),
               c = sample_of(z, "z", threads);
        check_rows(a, b, "y");
        check_rows(a, c, "z");
        check_k(k, a.n - 1, "fewer than the samples");
        const Bootstrap as = checked(bootstrap, {a.n}, k);
        return conditional(std::move(a), std::move(b), std::move(c), k, search_as, as);
    });
}

Estimate transfer_entropy(const MatrixView& source, const MatrixView& target, std::int64_t k,
                          std::int64_t source_lags, std::int64_t target_lags,
                          const Options& options, const Bootstrap& bootstrap) {
    return api::guarded([&] {
        const Options search_as = in_maximum_norm(options);
        const int threads = api::threads_of(options);
        const Sample from = sample_of(source, "source", threads),
                     to = sample_of(target, "target", threads);
        if (to.n != from.n) refuse("target: {} samples beside {} of source", to.n, from.n);
        if (source_lags < 1) refuse("source_lags: {}; expected at least 1", source_lags);
        if (target_lags < 1) refuse("target_lags: {}; expected at least 1", target_lags);
        const std::int64_t first = std::max(source_lags, target_lags);
        if (first >= to.n)
            refuse("{}_lags: {}; expected fewer than the {} samples",
                   first == source_lags ? "source" : "target", first, to.n);
        const std::int64_t n = to.n - first;
        check_k(k, n - 1, "fewer than the samples that have so many before them");
        const auto root = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
        return conditional(rows_of(to, first, n), past(from, source_lags, first, "source", threads),
                           past(to, target_lags, first, "target", threads), k, search_as,
                           checked(bootstrap, {n}, k, root));
    });
}

}  // namespace kith
