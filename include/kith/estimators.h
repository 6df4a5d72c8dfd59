// Information from nearest neighbours, in nats: entropy, Kullback-Leibler divergence, mutual information, conditional
// mutual information, transfer entropy. Neighbours and counts are exact, so an estimate is equal on all devices, except
// for the last bits of the system's logarithm.
//
//     kith::Estimate i = kith::mutual_information(kith::view(x.data(), n, 1), kith::view(y.data(), n, 2), 3);
//     i.value;
//     kith::mutual_information(x, y, 3, kith::KraskovForm::first, {}, {.repeats = 10}).error;
//
// Options are those of a search. The default metric is euclidean for entropy and divergence, and the maximum norm
// (chebyshev), the only valid one, for the others. f64 is ignored: distances are binary64 throughout.
//
// Samples are matrices of any element type, layout and memory, one row per sample, with finite values. The estimators
// assume continuous variables: equal samples have distance 0, which has no logarithm. Each estimator documents their
// treatment. Add noise below the rounding to rounded data first.
#pragma once

#include <cstdint>
#include <limits>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

struct Estimate {
    double value = 0;  // nats; not clipped at 0
    // The standard deviation of `value` over independent samples, estimated by Bootstrap; NaN if not requested. It does
    // not include bias.
    double error = std::numeric_limits<double>::quiet_NaN();
    std::int64_t samples = 0;   // number used
    std::int64_t left_out = 0;  // duplicates (entropy, divergence)
};

// Estimation of the error: `repeats` times the samples are split at random into `parts` disjoint parts. The variance of
// the parts' estimates, divided by their number, is that of the whole. This is subsampling, a bootstrap without
// replacement (Politis and Romano 1994; Holmes and Nemenman 2019 for Kraskov's estimators). Samples drawn with
// replacement would be each other's neighbours at distance 0. It assumes a variance that falls as 1 / n from a part to
// the whole. If the variance falls more slowly, as in many dimensions, the error is too small, more so with many parts.
//   The error is itself an estimate, within about 1 / sqrt(2 repeats (parts - 1)) of its limit for many repeats.
// Takes repeats x parts estimates of n / parts samples. Throws invalid_argument if a part has no more than k samples.
struct Bootstrap {
    std::int64_t repeats = 0;  // 0: no error
    std::int64_t parts = 2;    // more parts are less work, but each is less like the whole
    // Length of runs of consecutive rows that stay together, for dependent values of a time series. The two samples of
    // a divergence are split separately. 0: the default, which is 1, and for transfer_entropy the square root of its
    // samples, rounded up.
    std::int64_t stretch = 0;
    std::uint64_t seed = 0;
};

// The differential entropy of x (n x d) from the distance e_i of each sample to its k-th nearest other one (Kozachenko
// and Leonenko 1987; with digamma as in Kraskov et al. 2004, eq. 20). It is psi(n) - psi(k) + log c_d + d / n sum log
// e_i, with c_d the volume of the unit ball. Samples with e_i = 0 are left out. metric: euclidean, cityblock, chebyshev
// or minkowski.
//   1 <= k < n. Throws invalid_argument, also if all samples are left out, and what graph() throws.
KITH_EXPORT Estimate entropy(const MatrixView& x, std::int64_t k, const Options& options = {},
                             const Bootstrap& bootstrap = {});

enum class DivergenceForm : std::uint8_t {
    // log(m / (n - 1)) + d / n sum log(v_i / e_i) with the k-th nearest of both (Garcia et al. 2008, eq. 2; Perez-Cruz
    // 2008).
    nearest,
    // Likewise with one ball for both, of the larger distance: psi of the number of samples in it replaces the
    // distances (Wang, Kulkarni and Verdu 2009, the bias-reduced estimator). It has less bias where the two densities
    // differ.
    common_ball,
    // Both: the distances to the last sample of either within that ball, and the digammas of their numbers (the same
    // paper's second).
    common_ball_distances,
};

// The divergence D(P || Q) of the distributions of x (n x d) and y (m x d). e_i is the distance from sample i of x to
// the k-th nearest other one of x, v_i that to the k-th nearest of y. Samples with e_i = 0 or v_i = 0 are left out.
// metric: as for entropy, or seuclidean or mahalanobis with given parameters.
//   1 <= k < n, k <= m.
KITH_EXPORT Estimate kl_divergence(const MatrixView& x, const MatrixView& y, std::int64_t k,
                                   DivergenceForm form = DivergenceForm::nearest, const Options& options = {},
                                   const Bootstrap& bootstrap = {});

// Estimators of the mutual information of x (n x a) and y (n x b); rows with equal numbers are paired.
enum class KraskovForm : std::uint8_t {
    first,   // counts within the distance to the k-th neighbour in both (Kraskov et al. 2004, eq. 8)
    second,  // counts within the extents of the k nearest in x and in y (eq. 9)
};

// Uses the maximum norm within x, within y and over both. For a sample with k or more duplicates in x and y together, k
// is their number, and the counts are those of duplicates in either. Both forms do so (as Gao et al. 2017 do for
// mixtures of discrete and continuous variables); for purely discrete variables the result is about the plug-in
// estimate.
//   1 <= k < n.
KITH_EXPORT Estimate mutual_information(const MatrixView& x, const MatrixView& y, std::int64_t k,
                                        KraskovForm form = KraskovForm::first, const Options& options = {},
                                        const Bootstrap& bootstrap = {});

// The mutual information of x and y given z (n x c): psi(k) - mean(psi(n_xz + 1) + psi(n_yz + 1) - psi(n_z + 1)), with
// counts within the distance to the k-th neighbour in all three (Frenzel and Pompe 2007). Duplicates are treated as
// above.
KITH_EXPORT Estimate conditional_mutual_information(const MatrixView& x, const MatrixView& y, const MatrixView& z,
                                                    std::int64_t k, const Options& options = {},
                                                    const Bootstrap& bootstrap = {});

// The information of the past of `source` (n x a) about the next value of `target` (n x b) beyond the target's own past
// (Schreiber 2000): the conditional mutual information of target[t] and source[t - 1 ... t - source_lags] given
// target[t - 1 ... t - target_lags]. Rows are in the order of time, evenly spaced.
//   source_lags, target_lags >= 1; 1 <= k < n - max(source_lags, target_lags).
// Each row's past is copied a few times; throws out_of_memory if that exceeds the free memory.
KITH_EXPORT Estimate transfer_entropy(const MatrixView& source, const MatrixView& target, std::int64_t k,
                                      std::int64_t source_lags = 1, std::int64_t target_lags = 1,
                                      const Options& options = {}, const Bootstrap& bootstrap = {});

}  // namespace kith
