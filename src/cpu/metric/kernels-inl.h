// The kernels of every metric for one instruction set: distance keys (exact/canonical.h) in vector
// registers.
//
// A vector of W doubles holds W of the 32 partial accumulators; 32 / W registers hold all of one
// point. A call takes W points, in small groups that share the loads of the query, and joins their
// W last vectors by a transposing tree whose lane p is point p. Lanes beyond d keep their
// accumulators as they were: every operation is that of the scalar form.
#pragma once

#include "cpu/metric/kernels.h"
#include "cpu/simd/vector_ops-inl.h"
#include "exact/canonical.h"
#include "exact/wide_key.h"
#include "metric/all.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using Real = VectorOps<double>;
using V = Real::V;
inline constexpr int W = Real::lanes;
inline constexpr int registers = exact::partials / W;
inline constexpr int max_acc = metric::max_accumulators;

// Lane l of level `half` reads block l / half: even blocks from a, odd ones from b; `high` picks
// the upper halves.
template <int half, bool high, std::size_t... l>
KITH_HD V split(V a, V b, std::index_sequence<l...>) {
    return __builtin_shufflevector(a, b,
                                   static_cast<int>(l / half / 2 * (2 * half) + l % half +
                                                    (high ? half : 0) + (l / half % 2) * W)...);
}

// Joins sum[0 .. W) of one vector per point into sum[0], lane p being the canonical total of point
// p.
template <class M, int half = W / 2>
KITH_HD void transposing_tree(V (&sum)[W][max_acc]) {
    if constexpr (half > 0) {
        constexpr auto all = std::make_index_sequence<W>{};
        for (int p = 0; p < half; ++p) {
            V low[max_acc], high[max_acc];
            for (int s = 0; s < M::accumulators; ++s) {
                low[s] = split<half, false>(sum[p][s], sum[p + half][s], all);
                high[s] = split<half, true>(sum[p][s], sum[p + half][s], all);
            }
            M::template combine<Real>(low, high);
            for (int s = 0; s < M::accumulators; ++s) sum[p][s] = low[s];
        }
        transposing_tree<M, half / 2>(sum);
    }
}

// The W partial sums of `points` points that are left when the tree has joined whole registers.
template <class M, int points>
KITH_HD void partial_sums(const double* q, const double* const* x, const metric::Params& params,
                          V (*sum)[max_acc]) {
    V a[points][registers][max_acc] = {};
    const std::int64_t d = params.d;
    std::int64_t i = 0;
    for (; i + exact::partials <= d; i += exact::partials) {
#pragma GCC unroll 16
        for (int r = 0; r < registers; ++r) {
            const V vq = Real::load(q + i + r * W);
#pragma GCC unroll 8
            for (int p = 0; p < points; ++p)
                M::template step<Real>(a[p][r], vq, Real::load(x[p] + i + r * W), params);
        }
    }
    const int rest = static_cast<int>(d - i);
#pragma GCC unroll 16
    for (int r = 0; r < registers; ++r) {
        const int width = rest - r * W;
        if (width >= W) {
            const V vq = Real::load(q + i + r * W);
#pragma GCC unroll 8
            for (int p = 0; p < points; ++p)
                M::template step<Real>(a[p][r], vq, Real::load(x[p] + i + r * W), params);
        } else if (width > 0) {
            const auto mask = Real::first(width);
            const V vq = Real::load_part(q + i + r * W, width);
#pragma GCC unroll 8
            for (int p = 0; p < points; ++p) {
                V b[max_acc];
                for (int s = 0; s < M::accumulators; ++s) b[s] = a[p][r][s];
                M::template step<Real>(b, vq, Real::load_part(x[p] + i + r * W, width), params);
                for (int s = 0; s < M::accumulators; ++s)
                    a[p][r][s] = Real::select(mask, b[s], a[p][r][s]);
            }
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < points; ++p) {
#pragma GCC unroll 8
        for (int half = registers / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
            for (int r = 0; r < half; ++r) M::template combine<Real>(a[p][r], a[p][r + half]);
        }
        for (int s = 0; s < M::accumulators; ++s) sum[p][s] = a[p][0][s];
    }
}

template <class M>
void step_ranks(const double* q, const double* aux_q, const double* points, std::int64_t stride,
                const double* aux, std::int64_t count, const metric::Params& params, double* out) {
    // As many points at a time as their accumulators fit into the 32 or 16 registers.
    constexpr int group = KITH_LEVEL == 2 ? 4 / M::accumulators : 1;
    for (std::int64_t first = 0; first < count; first += W) {
        const int here = static_cast<int>(std::min<std::int64_t>(W, count - first));
        const double* x[W];
        for (int p = 0; p < W; ++p) x[p] = points + (first + std::min(p, here - 1)) * stride;
        V sum[W][max_acc] = {};
        for (int p = 0; p < here; p += group) partial_sums<M, group>(q, x + p, params, sum + p);
        transposing_tree<M>(sum);
        double total[max_acc][W];
        for (int s = 0; s < M::accumulators; ++s) Real::store(total[s], sum[0][s]);
        for (int p = 0; p < here; ++p) {
            double a[max_acc] = {};
            for (int s = 0; s < M::accumulators; ++s) a[s] = total[s][p];
            out[first + p] = exact::ordered_rank(
                M::finish(a, aux_q, aux + (first + p) * metric::max_aux, params));
        }
    }
}

// The quadratic form of metric::Mahalanobis::whole_term, a lane per point: the inner sums of `rows`
// rows of the matrix share the loads of the differences.
template <class M>
void form_ranks(const double* q, const double*, const double* points, std::int64_t stride,
                const double*, std::int64_t count, const metric::Params& params, double* out) {
    constexpr int rows = 4, vectors = KITH_LEVEL == 0 ? 1 : 2, block = vectors * W;
    const std::int64_t d = params.d;
    std::vector<double> difference(static_cast<std::size_t>(d * block));
    for (std::int64_t first = 0; first < count; first += block) {
        const int here = static_cast<int>(std::min<std::int64_t>(block, count - first));
        for (int p = 0; p < block; ++p) {
            const double* x = points + (first + std::min(p, here - 1)) * stride;
            for (std::int64_t i = 0; i < d; ++i) difference[i * block + p] = q[i] - x[i];
        }
        double a[exact::partials][block] = {};
        for (std::int64_t i = 0; i < d; i += rows) {
            V w[rows][vectors] = {};
            const double* row[rows];
            for (int r = 0; r < rows; ++r) row[r] = params.constants + std::min(i + r, d - 1) * d;
            for (std::int64_t j = 0; j < d; ++j) {
                V t[vectors];
                for (int v = 0; v < vectors; ++v) t[v] = Real::load(&difference[j * block + v * W]);
                for (int r = 0; r < rows; ++r) {
                    const V m = Real::set(row[r][j]);
                    for (int v = 0; v < vectors; ++v) w[r][v] = Real::fma(m, t[v], w[r][v]);
                }
            }
            for (int r = 0; r < rows && i + r < d; ++r) {
                for (int v = 0; v < vectors; ++v) {
                    double* sum = a[(i + r) % exact::partials] + v * W;
                    const V t = Real::load(&difference[(i + r) * block + v * W]);
                    Real::store(sum, Real::add(Real::load(sum), Real::mul(t, w[r][v])));
                }
            }
        }
        for (int half = exact::partials / 2; half > 0; half /= 2) {
            for (int j = 0; j < half; ++j) {
                for (int p = 0; p < block; ++p) a[j][p] += a[j + half][p];
            }
        }
        for (int p = 0; p < here; ++p)
            out[first + p] = exact::ordered_rank(M::finish(a[0] + p, nullptr, nullptr, params));
    }
}

// The constants of coordinates i ... i + width - 1.
template <class M>
KITH_HD V constants_at(const metric::Params& params, std::int64_t i, int width = W) {
    if constexpr (!M::traits.per_coordinate) return V{};
    else
        return width == W ? Real::load(params.constants + i)
                          : Real::load_part(params.constants + i, width);
}

// Canonical sum of one row by M::aux_step.
template <class M>
KITH_HD double aux_sum(int stage, const double* row, const V* aux, const metric::Params& params) {
    V a[registers] = {};
    const std::int64_t d = params.d;
    std::int64_t i = 0;
    for (; i + exact::partials <= d; i += exact::partials) {
#pragma GCC unroll 16
        for (int r = 0; r < registers; ++r) {
            const V c = constants_at<M>(params, i + r * W);
            a[r] = M::template aux_step<Real>(stage, a[r], Real::load(row + i + r * W), aux, c);
        }
    }
    const int rest = static_cast<int>(d - i);
#pragma GCC unroll 16
    for (int r = 0; r < registers; ++r) {
        const int width = std::min(rest - r * W, W);
        if (width <= 0) continue;
        const V x =
            width == W ? Real::load(row + i + r * W) : Real::load_part(row + i + r * W, width);
        const V c = constants_at<M>(params, i + r * W, width);
        const V b = M::template aux_step<Real>(stage, a[r], x, aux, c);
        a[r] = Real::select(Real::first(width), b, a[r]);
    }
#pragma GCC unroll 8
    for (int half = registers / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (int r = 0; r < half; ++r) a[r] = Real::add(a[r], a[r + half]);
    }
    double lane[W];
    Real::store(lane, a[0]);
    for (int half = W / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) lane[j] = lane[j] + lane[j + half];
    }
    return lane[0];
}

template <class M>
void prepare(double* rows, std::int64_t stride, std::int64_t count, double* aux,
             const metric::Params& params) {
    const std::int64_t d = params.d;
    for (std::int64_t i = 0; i < count; ++i) {
        double* row = rows + i * stride;
        V value[metric::max_aux] = {};
        for (int stage = 0; stage < M::aux; ++stage) {
            const double v = M::aux_finish(stage, aux_sum<M>(stage, row, value, params), params);
            aux[i * metric::max_aux + stage] = v;
            value[stage] = Real::set(v);
        }
        std::int64_t j = 0;
        for (; j + W <= d; j += W)
            Real::store(row + j, M::template map<Real>(Real::load(row + j), value,
                                                       constants_at<M>(params, j)));
        if (j < d) {
            const int width = static_cast<int>(d - j);
            const V c = constants_at<M>(params, j, width);
            Real::store_part(
                row + j, M::template map<Real>(Real::load_part(row + j, width), value, c), width);
        }
    }
}

template <class M>
double report(double rank, const metric::Params& params) {
    return M::report(rank, params);
}

template <auto>
struct Address;

template <class M>
constexpr MetricKernels kernels_of() {
    using Scalar = ScalarOps<double>;
    // As types: sanitizers do not let addresses of functions be compared in constants.
    constexpr bool identity =
        std::is_same_v<Address<&M::template map<Scalar>>, Address<&metric::Base::map<Scalar>>>;
    MetricKernels kernels{M::traits, M::aux, identity, prepare<M>, nullptr, report<M>, nullptr};
    if constexpr (M::traits.whole_vector) kernels.ranks = form_ranks<M>;
    else kernels.ranks = step_ranks<M>;
    if constexpr (M::traits.root != metric::Root::none) kernels.scaled = exact::scaled_distance<M>;
    return kernels;
}

constexpr MetricKernels all_kernels[] = {
#define KITH_METRIC(name, type, aliases, what) kernels_of<metric::type>(),
#include "kith/metrics.def"
#undef KITH_METRIC
};

}  // namespace

const MetricKernels* metric_kernel_table() {
    return all_kernels;
}

}  // namespace kith::cpu::KITH_TARGET
