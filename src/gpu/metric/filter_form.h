// How coordinates become the vectors of a GPU's filter. Plain host code: kernels, and the tests of
// the bound, read it.
#pragma once

#include <cstdint>
#include <limits>

#include "exact/direct_form.h"
#include "gpu/metric/factor.h"
#include "gpu/primitives/f32.h"
#include "metric/metric.h"

namespace kith::gpu {

// Vectors (docs/exactness.md): v = (map(x) - centre) * scale, or v = (map(x) / |map(x)| - centre) *
// scale where `unit`, v = (L' W (map(x) - centre)) * scale where the metric has a factor, v = (log
// x - centre) * scale of the points of a cross entropy; rounded to fp16, once or in two terms. Of a
// dot form only points are less the centre.
struct FilterForm {
    metric::Gemm gemm = metric::Gemm::none;  // l2, dot (that of a cross entropy too) or cosine
    const double* centre = nullptr;          // d, or null
    double centre_norm = 0;                  // of products: |centre|
    double scale = 1;
    double query_scale = 1;  // the norm of a query where the form makes queries unit
    // Not 0: inner products of points and queries around a mean. As in l2, whose bound serves, both
    // are less the centre, queries after they have been given this norm; half norms are -scale
    // <centre, v>.
    double product_norm = 0;
    bool unit = false;
    // Of inner products whether all points are finite, and as far from a query of zeros. `unknown`,
    // where not null, becomes 1 where one is not; of cross entropies where a finite key may lie
    // above `farthest`.
    bool finite_points = false;
    int* unknown = nullptr;
    float farthest = largest_f32;  // values above this and E are those of infinite keys
    int terms = 1;
    std::int64_t width =
        0;  // halves per row: d rounded up to a multiple of 16, three times that for two terms
    double kappa = 0;  // typical relative rounding error of a vector
    double gamma = 0;  // relative error of an accumulated product
    std::uint32_t stride =
        1;  // the point at position p is row p * stride mod n: neighbours in the caller's order
            // are far apart here, so that every run of positions is a sample
    const std::uint32_t* order =
        nullptr;        // where not null, it is row order[p] instead (points/clusters.h)
    FactorForm factor;  // Traits::factored
    // Of a cross entropy (filter/bound.h), else 0: what coordinates of queries other than 0 are
    // rounded to at least, and up to where values may reach of points with zeros, or they are not
    // covered.
    double least = 0, covered = 0;
    // Upper values from here on are infinite: their keys may be.
    float ceiling = std::numeric_limits<float>::infinity();
    // Where direct.step is not `dot`, the direct filter instead: f32 words (width: of a row),
    // coordinates times scale.
    exact::DirectForm direct;
    float growth = 1, lost = 0;  // of its bound, rounded upwards
    // Its growth with queries of f64 (points of f64: with all), and the weight of what rounding
    // took from a row (exact::rounded_share), or of its size (exact::ShareTerms).
    float rounded_growth = 1;
    double rounded_weight = 0;
    // Of values that are whole numbers (exact::counts_differences): to a point's a fraction of 1 is
    // added that grows with its row, a multiple of 1 / tie_classes, so that rows that are as far
    // come in the order of the answer.
    std::int64_t tie_classes = 0;  // a power of two, or 0: nothing is added
    const double* values =
        nullptr;  // of exact::Coordinates::few_values: value g of coordinate i is values[g d + i]

    bool is_direct() const { return direct.step != exact::Step::dot; }
    KITH_HD bool shifts_products() const { return product_norm > 0; }
};

// The same of queries, which keep their order.
inline FilterForm of_queries(FilterForm form) {
    form.stride = 1;
    form.order = nullptr;
    return form;
}

// A position's row.
KITH_HD std::int64_t row_at(const FilterForm& form, std::int64_t position, std::int64_t n) {
    if (form.order) return form.order[position];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(position) * form.stride %
                                     static_cast<std::uint64_t>(n));
}

// What is added to the value of row `row` of n.
KITH_HD float tie_share(const FilterForm& form, std::int64_t row, std::int64_t n) {
    if (form.tie_classes == 0)
        return 0;  // NOLINTNEXTLINE(bugprone-integer-division): a whole number, of c
    return static_cast<float>(row * form.tie_classes / n) / static_cast<float>(form.tie_classes);
}

}  // namespace kith::gpu
