// How coordinates become the vectors of the GPU's filter. Plain host code: kernels and the tests of
// the bound share it.
#pragma once

#include <cstdint>
#include <limits>

#include "exact/direct_form.h"
#include "gpu/metric/factor.h"
#include "gpu/primitives/f32.h"
#include "metric/metric.h"

namespace kith::gpu {

// Vectors (docs/proofs/products.md), rounded to fp16 in one or two terms:
//
//   v = (map(x) - centre) * scale              by default
//   v = (map(x) / |map(x)| - centre) * scale   where `unit`
//   v = (L' W (map(x) - centre)) * scale       where the metric has a factor
//   v = (log x - centre) * scale               points of a cross entropy
//
// In a dot form only points have the centre subtracted.
struct FilterForm {
    metric::Gemm gemm = metric::Gemm::none;  // l2, dot (also for a cross entropy) or cosine
    const double* centre = nullptr;          // d, or null
    double centre_norm = 0;                  // inner products: |centre|
    double scale = 1;
    double query_scale = 1;  // the norm given to queries where the form normalises them
    // Nonzero: inner products around a mean. Points have the centre subtracted, and so have
    // queries, after scaling to this norm. The bound of l2 holds. Half norms are -scale <centre,
    // v>.
    double product_norm = 0;
    bool unit = false;
    // Inner products: true if all points are finite, so that a zero query is equally far from all.
    // `unknown`, if not null, is set to 1 when a point is not finite. For cross entropies it is set
    // to 1 when a finite key may lie above `farthest`.
    bool finite_points = false;
    int* unknown = nullptr;
    float farthest = largest_f32;  // a value above this + E belongs to an infinite key
    int terms = 1;
    // Halves per row: d rounded up to a multiple of 16; three times that for two terms.
    std::int64_t width = 0;
    double kappa = 0;  // typical relative rounding error of a vector
    double gamma = 0;  // relative error of an accumulated product
    // Position p holds row p * stride mod n. Rows that are adjacent for the caller are far apart
    // here, so every run of positions is a sample.
    std::uint32_t stride = 1;
    // If not null, position p holds row order[p] instead (points/clusters.h).
    const std::uint32_t* order = nullptr;
    FactorForm factor;  // Traits::factored
    // Cross entropy (filter/bound.h), else 0. Nonzero coordinates of queries are rounded to at
    // least `least`. A point with zeros is covered only if its values cannot exceed `covered`.
    double least = 0, covered = 0;
    // Upper values from here on count as infinite: their keys may be.
    float ceiling = std::numeric_limits<float>::infinity();
    // Unless direct.step is `dot`, the direct filter is used: f32 words (`width` per row),
    // coordinates times scale.
    exact::DirectForm direct;
    float growth = 1, lost = 0;  // of the direct filter's bound, rounded upwards
    // The bound's growth with queries of f64 (with points of f64: with all queries), and the weight
    // of a row's rounding residual (exact::rounded_share) or of its size (exact::ShareTerms).
    float rounded_growth = 1;
    double rounded_weight = 0;
    // Integer values (exact::counts_differences): each point's value gains a fraction below 1 that
    // grows with its row, a multiple of 1 / tie_classes. Rows at equal distance then come in the
    // order of the answer.
    std::int64_t tie_classes = 0;  // a power of two, or 0: nothing is added
    // Categorical coordinates (exact::Coordinates::few_values): value g of coordinate i is values[g
    // d + i].
    const double* values = nullptr;

    bool is_direct() const { return direct.step != exact::Step::dot; }
    KITH_HD bool shifts_products() const { return product_norm > 0; }
};

// The form for queries, which keep their order.
inline FilterForm of_queries(FilterForm form) {
    form.stride = 1;
    form.order = nullptr;
    return form;
}

// The row at a position, of n rows.
KITH_HD std::int64_t row_at(const FilterForm& form, std::int64_t position, std::int64_t n) {
    if (form.order) return form.order[position];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(position) * form.stride %
                                     static_cast<std::uint64_t>(n));
}

// The tie-breaking fraction that is added to the value of row `row` of n.
KITH_HD float tie_share(const FilterForm& form, std::int64_t row, std::int64_t n) {
    if (form.tie_classes == 0)
        return 0;  // NOLINTNEXTLINE(bugprone-integer-division): a whole number, of c
    return static_cast<float>(row * form.tie_classes / n) / static_cast<float>(form.tie_classes);
}

}  // namespace kith::gpu
