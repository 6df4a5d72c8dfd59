// Kernels of trees for one instruction set: a lane per point or box, whose partial sums are vectors
// of their own, joined as in exact/canonical.h. Partial sums beyond d are left out: monotone
// metrics (metric::Traits) permit it.
#pragma once

#include <type_traits>

#include "cpu/simd/lanes_within-inl.h"
#include "cpu/tree/kernels.h"
#include "exact/canonical.h"
#include "metric/all.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using Real = VectorOps<double>;
using V = Real::V;
inline constexpr int W = Real::lanes;

// The tree over the first `used` partial sums.
template <class M, int half, int used>
KITH_HD void join(V* a) {
    if constexpr (half > 0) {
#pragma GCC unroll 8
        for (int j = 0; j < used - half; ++j) M::template combine<Real>(&a[j], &a[j + half]);
        join<M, half / 2, std::min(used, half)>(a);
    }
}

// The distance key of each lane, the terms being step(a, j) of coordinate j.
template <class M, int dims, class Step>
KITH_HD V lane_keys(std::int64_t d, const Step& step) {
    static_assert(M::accumulators == 1 && M::aux == 0);
    constexpr int sums = dims > 0 ? std::min(dims, exact::partials) : exact::partials;
    V a[sums] = {};
    if constexpr (dims > 0) {
#pragma GCC unroll 8
        for (int j = 0; j < dims; ++j) step(&a[j], j);
    } else {
        for (std::int64_t j = 0; j < d; ++j) step(&a[j % exact::partials], j);
    }
    if constexpr (dims > 0) {
        join<M, exact::partials / 2, sums>(a);
    } else {
        int used = static_cast<int>(std::min<std::int64_t>(d, exact::partials));
        for (int half = exact::partials / 2; half > 0; half /= 2) {
            for (int j = 0; j + half < used; ++j) M::template combine<Real>(&a[j], &a[j + half]);
            used = std::min(used, half);
        }
    }
    const V infinity = Real::set(std::numeric_limits<double>::infinity());
    return Real::select(Real::eq(a[0], a[0]), Real::add(a[0], Real::zero()), infinity);
}

template <class M, int dims>
std::uint64_t keys(const double* q, const double* leaf, double threshold,
                   const metric::Params& params, double* out) {
    const V most = Real::set(threshold);
    std::uint64_t within = 0;
    for (int p = 0; p < leaf_points; p += W) {
        const V key = lane_keys<M, dims>(params.d, [&](V* a, std::int64_t j) {
            M::template step<Real>(a, Real::set(q[j]), Real::load(leaf + j * leaf_points + p),
                                   params);
        });
        Real::store(out + p, key);
        within |= lanes_within<double, false>(key, most) << p;
    }
    return within;
}

// Distance keys of a point of each box, whose coordinate choose(q's, the lower end, the upper end,
// to) gives.
template <class M, int dims, class Choose>
std::uint64_t box_keys(const double* q, const double* node, double threshold,
                       const metric::Params& params, double* out, const Choose& choose) {
    const V most = Real::set(threshold);
    std::uint64_t within = 0;
    for (int b = 0; b < node_boxes; b += W) {
        const V key = lane_keys<M, dims>(params.d, [&](V* a, std::int64_t j) {
            const V at = Real::set(q[j]);
            const V low = Real::load(node + 2 * j * node_boxes + b);
            const V high = Real::load(node + (2 * j + 1) * node_boxes + b);
            V x;
            choose(at, low, high, &x);
            M::template step<Real>(a, at, x, params);
        });
        Real::store(out + b, key);
        within |= lanes_within<double, false>(key, most) << b;
    }
    return within;
}

template <class M, int dims>
std::uint64_t bounds(const double* q, const double* node, double threshold,
                     const metric::Params& params, double* out) {
    return box_keys<M, dims>(q, node, threshold, params, out,
                             [](const V& at, const V& low, const V& high, V* nearest) {
                                 const V above = at < low ? low : at;
                                 *nearest = high < above ? high : above;
                             });
}

template <class M, int dims>
std::uint64_t reaches(const double* q, const double* node, double threshold,
                      const metric::Params& params, double* out) {
    return box_keys<M, dims>(q, node, threshold, params, out,
                             [](const V& at, const V& low, const V& high, V* farthest) {
                                 *farthest = at - low < high - at ? high : low;
                             });
}

template <class M, int dims>
constexpr TreeKernels kernels_of() {
    if constexpr (M::traits.monotone) return {keys<M, dims>, bounds<M, dims>, reaches<M, dims>};
    else return {};
}

static_assert(unrolled_dimensions == 8);
constexpr TreeKernels all_tree_kernels[] = {
#define KITH_METRIC(name, type, aliases, what)                                                   \
    kernels_of<metric::type, 0>(), kernels_of<metric::type, 1>(), kernels_of<metric::type, 2>(), \
        kernels_of<metric::type, 3>(), kernels_of<metric::type, 4>(),                            \
        kernels_of<metric::type, 5>(), kernels_of<metric::type, 6>(),                            \
        kernels_of<metric::type, 7>(), kernels_of<metric::type, 8>(),
#include "kith/metrics.def"
#undef KITH_METRIC
};

}  // namespace

const TreeKernels* tree_kernel_table() {
    return all_tree_kernels;
}

}  // namespace kith::cpu::KITH_TARGET
