// The bound of the GPU's filter attacked: for pairs made to use all of it, what the matrix units compute must enclose
// the exact value and the distance key, for both instruction sets and for one and two terms of fp16.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "api/check/magnitudes.h"
#include "bound_attacks.h"
#include "entropy_attacks.h"
#include "exact/canonical.h"
#include "exact/order.h"
#include "filter_values.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/dense/value_pass.h"
#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/points/points.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "metric/correlation.h"
#include "metric/hellinger.h"
#include "metric/inner_product.h"
#include "metric/kl_divergence.h"
#include "metric/sqeuclidean.h"

namespace {

using namespace kith;
using filter_values::instruction_sets;
using filter_values::to_host;
using metric::Gemm;

// Rows as the canonical form sees them.
struct Prepared {
    std::vector<double> values, aux;
    std::vector<bool> nan;
};

template <class M>
Prepared prepare_rows(const MatrixView& view, const metric::Params& params) {
    Prepared p;
    p.values.resize(static_cast<std::size_t>(view.rows * view.cols));
    p.aux.resize(static_cast<std::size_t>(view.rows) * metric::max_aux);
    for (std::int64_t i = 0; i < view.rows; ++i) {
        double* const row = p.values.data() + i * view.cols;
        for (std::int64_t j = 0; j < view.cols; ++j)
            row[j] = exact::load(view.data, view.type, exact::offset(view, i, j));
        p.nan.push_back(std::any_of(row, row + view.cols, [](double x) { return x != x; }));
        exact::prepare_vector<M>(row, view.cols, p.aux.data() + i * metric::max_aux, params);
    }
    return p;
}

// What a metric's filter is compared with.
struct Judge {
    MetricId id;
    Gemm form;
    int aux;
    std::function<Prepared(const MatrixView&, const metric::Params&)> prepare;
    std::function<double(const double*, const double*, const double*, const double*, const metric::Params&)> rank;
};

template <class M>
Judge judge_of(MetricId id) {
    return {id, M::traits.gemm, M::aux, prepare_rows<M>,
            [](const double* q, const double* x, const double* aux_q, const double* aux_x,
               const metric::Params& params) { return exact::rank<M>(q, x, aux_q, aux_x, params, nullptr); }};
}

Judge judge(const std::string& name) {
    if (name == "sqeuclidean") return judge_of<metric::SqEuclidean>(MetricId::sqeuclidean);
    if (name == "hellinger") return judge_of<metric::Hellinger>(MetricId::hellinger);
    if (name.starts_with("inner_product")) return judge_of<metric::InnerProduct>(MetricId::inner_product);
    if (name == "cosine") return judge_of<metric::Cosine>(MetricId::cosine);
    if (name == "kl_divergence") return judge_of<metric::KlDivergence>(MetricId::kl_divergence);
    return judge_of<metric::Correlation>(MetricId::correlation);
}

// The value that the filter encloses, exact and as the distance key gives it, for each pair.
struct Truth {
    std::vector<long double> exact, canonical;
};

Truth truth_of(const Judge& judge, const Prepared& q, const Prepared& x, std::int64_t d, const gpu::FilterForm& form,
               const std::vector<double>& centre, const metric::Params& params) {
    const std::size_t queries = q.nan.size(), points = x.nan.size();
    const auto size = static_cast<std::size_t>(d);
    const long double t = form.scale, s = form.query_scale;
    const auto norm2 = [&](const long double* a) {
        long double sum = 0;
        for (std::size_t j = 0; j < size; ++j) sum += a[j] * a[j];
        return sum;
    };
    // Zero as a metric of unit vectors sees it: the norm is the last auxiliary value.
    const auto zero = [&](const Prepared& p, std::size_t row) {
        return p.aux[row * metric::max_aux + static_cast<std::size_t>(judge.aux - 1)] == 0;
    };
    // The vectors before scaling and, unless they are centred, before they become unit.
    const bool centred_units = form.unit && form.gemm == Gemm::l2;
    const auto moved = [&](const Prepared& p) {
        std::vector<long double> v(p.values.begin(), p.values.end());
        for (std::size_t i = 0; i < v.size() && centred_units; i += size) {
            const long double norm = std::sqrt(norm2(&v[i]));
            for (std::size_t j = i; j < i + size; ++j) v[j] = zero(p, i / size) ? 0 : v[j] / norm;
        }
        for (std::size_t i = 0; i < v.size() && !centre.empty(); ++i) v[i] -= centre[i % size];
        return v;
    };
    if (judge.form == Gemm::cross_entropy) {
        Truth out;
        for (std::size_t i = 0; i < queries; ++i) {
            const double* const a = &q.values[i * size];
            const std::vector<long double> exact(a, a + size);
            long double constant = 0;
            for (std::size_t j = 0; j < size; ++j)
                if (a[j] > 0) constant += exact[j] * (std::log(exact[j]) - centre[j]);
            for (std::size_t k = 0; k < points; ++k) {
                const double* const b = &x.values[k * size];
                long double product = 0;
                for (std::size_t j = 0; j < size; ++j)
                    if (a[j] > 0)
                        product += exact[j] * (std::log(std::abs(static_cast<long double>(b[j]))) - centre[j]);
                const long double rank = judge.rank(a, b, nullptr, nullptr, params),
                                  to = s * t / std::sqrt(norm2(exact.data()));
                out.exact.push_back(-product * to);
                out.canonical.push_back((rank - constant) * to);
            }
        }
        return out;
    }
    if (judge.form == Gemm::dot) {
        Truth out;
        for (std::size_t i = 0; i < queries; ++i) {
            const double* const a = &q.values[i * size];
            const std::vector<long double> exact(a, a + size);
            const long double to =
                (form.shifts_products() ? t * t * form.product_norm : s * t) / std::sqrt(norm2(&exact[0]));
            const auto centre_at = [&](std::size_t j) -> long double { return centre.empty() ? 0 : centre[j]; };
            long double along = 0;
            for (std::size_t j = 0; j < size; ++j) along += exact[j] * centre_at(j);
            for (std::size_t k = 0; k < points; ++k) {
                const double* const b = &x.values[k * size];
                long double product = 0;
                for (std::size_t j = 0; j < size; ++j) product += exact[j] * (b[j] - centre_at(j));
                const long double rank = judge.rank(a, b, nullptr, nullptr, params);
                out.exact.push_back(-product * to);
                out.canonical.push_back((rank + along) * to);
            }
        }
        return out;
    }
    const std::vector<long double> u = moved(q), v = moved(x);
    Truth out;
    for (std::size_t i = 0; i < queries; ++i) {
        const long double* const a = &u[i * size];
        const long double query2 = norm2(a), query = std::sqrt(query2);
        for (std::size_t k = 0; k < points; ++k) {
            const long double* const b = &v[k * size];
            long double product = 0, squares = 0;
            for (std::size_t j = 0; j < size; ++j) {
                product += a[j] * b[j];
                squares += b[j] * b[j];
            }
            const long double rank = judge.rank(&q.values[i * size], &x.values[k * size], &q.aux[i * metric::max_aux],
                                                &x.aux[k * metric::max_aux], params);
            if (centred_units) {
                // Zero is at distance 1 of all unit vectors.
                const long double beside = zero(x, k) ? 0.5L : 0;
                out.exact.push_back((squares / 2 + beside - product) * t * t);
                out.canonical.push_back((rank - query2 / 2) * t * t);
            } else if (judge.form == Gemm::l2) {
                out.exact.push_back((squares / 2 - product) * t * t);
                out.canonical.push_back((rank - query2) * t * t / 2);
            } else {
                out.exact.push_back(zero(q, i) || zero(x, k) ? 0 : -product * s * t / (query * std::sqrt(squares)));
                out.canonical.push_back((rank - 1) * s * t);
            }
        }
    }
    return out;
}

// What was seen of the bound.
struct Seen {
    double largest_share = 0;  // |value - middle of the enclosure| over half its width
    std::string at;
    std::int64_t covered = 0, pairs = 0;
};

// One set of points and queries on the device, prepared.
class Attack {
public:
    // `among`: the queries are the points.
    Attack(const std::string& metric, const std::string& what, std::int64_t d, ElementType type, std::uint64_t seed,
           bool among = false)
        : judge_(judge(metric)), among_(among) {
        const bool many = d > 1000, most = d > 8192;
        const bool entropies = entropy_attacks::makers().contains(what);
        const std::int64_t n = most ? 24 : what.starts_with("fp16") ? 300 : entropies && !many ? 280 : 64;
        bound_attacks::Data data = entropies ? entropy_attacks::make(what, n, many ? 12 : 24, d, seed)
                                             : bound_attacks::make(what, n, many ? 12 : 24, d, seed);
        if (data.precise && type != ElementType::f32) type = ElementType::f64;
        if (metric == "hellinger")
            for (std::vector<double>* values : {&data.points, &data.queries})
                for (double& x : *values) x = x * x;  // as the root sees them: without their signs
        if (metric == "kl_divergence")
            for (std::vector<double>* values : {&data.points, &data.queries})
                for (double& x : *values) x = std::abs(x);
        if (among) {
            data.queries = data.points;
            data.q = data.n;
        }
        points_ = arrays::make(data.points, data.n, d, type);
        queries_ = arrays::make(data.queries, data.q, d, type);
        label_ = metric + ", " + what + ", d " + std::to_string(d) + ", element type " +
                 std::to_string(static_cast<int>(type));
        MetricSpec spec;
        spec.id = judge_.id;
        spec.params.d = d;
        Plan plan;
        gpu_arrays::check(cudaGetDevice(&plan.device));
        plan.path = kith::Path::gemm_f16;
        plan.chunk_points = data.n;
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        points_.view = api::scaled_rows(points_.view, spec, 1, progress, scaled_points_);
        queries_.view = api::scaled_rows(queries_.view, spec, 1, progress, scaled_queries_);
        prepared_ = gpu::prepare(points_.view, spec, plan, false, nullptr, 1, progress);
        rows_ = gpu::upload(queries_.view, 0, data.q, false, nullptr);
        gpu::measure(rows_, prepared_->metric, nullptr);
        form_ = prepared_->resident.filter.form;
        host_points_ = judge_.prepare(points_.view, spec.params);
        host_queries_ = judge_.prepare(queries_.view, spec.params);
        if (metric.ends_with("_plain")) form_of_products(Products::plain);
        if (metric.ends_with("_centred")) form_of_products(Products::centred);
        if (metric.ends_with("_shifted")) form_of_products(Products::shifted);
        if (form_.centre) centre_ = to_host(form_.centre, d);
        truth_ = truth_of(judge_, host_queries_, host_points_, d, form_, centre_, spec.params);
    }

    // With as many terms, and kappa a multiple of what the sample gave.
    void run(int terms, double kappa, Seen& seen) const {
        const gpu::Chunk& chunk = prepared_->resident;
        const gpu::MetricKernels& kernels = *prepared_->metric.kernels;
        gpu::FilterForm form = form_;
        form.terms = terms;
        form.width = gpu::filter_width(points_.view.cols, terms);
        form.gamma = gpu::filter_gamma(form.width + gpu::augmented_step);
        form.kappa *= kappa;
        if (form.least > 0) {
            form.scale = std::ldexp(form.scale, gpu::entropy_exponent(terms) - gpu::entropy_exponent(1));
            gpu::use_entropies(form);
        }
        const std::int64_t n = points_.view.rows, q = queries_.view.rows,
                           padded =
                               (n + gpu::filter_tile_points - 1) / gpu::filter_tile_points * gpu::filter_tile_points;
        gpu::Buffer<__half> vectors(n * form.width, nullptr), query_vectors(q * form.width, nullptr);
        gpu::Buffer<float> h(padded, nullptr), f(padded, nullptr), e(q, nullptr), all(q * padded, nullptr);
        gpu::Buffer<std::uint8_t> unfit(q, nullptr);
        kernels.filter_points(chunk.points.prepared(), form, vectors.get(), h.get(), f.get(), prepared_->metric.params,
                              nullptr);
        kernels.filter_queries(rows_.prepared(), form, query_vectors.get(), e.get(), unfit.get(),
                               prepared_->metric.params, nullptr);
        gpu::FilterPass pass;
        pass.queries = query_vectors.get();
        pass.points = vectors.get();
        pass.half_norm = h.get();
        pass.q = q;
        pass.n = pass.count = n;
        pass.width = form.width;
        pass.all = all.get();
        pass.ld = padded;
        const Terms found{form, to_host(e.get(), q), to_host(f.get(), n), to_host(h.get(), n), to_host(unfit.get(), q)};
        for (const gpu::FilterIsa isa : instruction_sets()) {
            gpu::sweep(pass, isa, nullptr);
            check(found, to_host(all.get(), q * padded), padded,
                  label_ + ", " + std::to_string(terms) + " terms, kappa " + std::to_string(form.kappa) +
                      (isa == gpu::FilterIsa::sm_80 ? ", sm_80" : ", sm_90a"),
                  seen);
            if (testing::Test::HasFatalFailure()) return;
        }
        if (form.width <= 256 && instruction_sets().size() > 1) augmented(found, pass, padded, seen);
        // The same bound serves sums in f32 in any order: looked at in a third of the cases, to save time.
        static int turn = 0;
        const std::int64_t at_once = gpu::value_query_bytes / 2 / form.width >= 4 ? 4 : 1;
        if (terms != 1 || turn++ % 3 != 0 || 2 * at_once * form.width > gpu::value_query_bytes) return;
        gpu::ValuePass values{.points = vectors.get(),
                              .half_norm = h.get(),
                              .point_error = f.get(),
                              .ceiling = form.ceiling,
                              .n = n,
                              .width = form.width,
                              .groups = gpu::value_groups(n, 1),
                              .ld = padded};
        const gpu::Buffer<std::uint32_t> keys(q * padded, nullptr),
            least(at_once * 3 * values.groups * values.steps_of_group(), nullptr);
        values.least = least.get();
        values.step_least = least.get() + at_once * 2 * values.groups;
        for (std::int64_t first = 0; first < q; first += at_once) {
            values.queries = query_vectors.get() + first * form.width;
            values.q = std::min(at_once, q - first);
            values.values = keys.get() + first * padded;
            gpu::value_pass(values, nullptr);
        }
        std::vector<float> of_keys;
        for (const std::uint32_t of_value : to_host(keys.get(), q * padded))
            of_keys.push_back(exact::Order<float>::value(of_value));
        check(found, of_keys, padded, label_ + ", values in f32", seen);
    }

private:
    struct Terms {
        gpu::FilterForm form;
        std::vector<float> e, f, h;
        std::vector<std::uint8_t> unfit;
    };

    // A form of inner products that the points may not have chosen, with the mean of most of them.
    enum class Products { plain, centred, shifted };
    void form_of_products(Products products) {
        const auto d = static_cast<std::size_t>(points_.view.cols), n = host_points_.nan.size();
        std::vector<double> centre(d), norms;
        const auto norm_of_row = [&](std::size_t row) {
            double norm2 = 0;
            for (std::size_t j = 0; j < d; ++j) {
                const double x = host_points_.values[row * d + j] - centre[j];
                norm2 += x * x;
            }
            return std::isfinite(norm2) ? std::sqrt(norm2) : std::numeric_limits<double>::infinity();
        };
        const auto typical = [&] {
            norms.clear();
            for (std::size_t row = 0; row < n; ++row) norms.push_back(norm_of_row(row));
            std::nth_element(norms.begin(), norms.begin() + static_cast<std::ptrdiff_t>(n / 2), norms.end());
            return norms[n / 2];
        };
        const double whole = typical();
        double left = whole;
        if (products != Products::plain) {
            std::vector<double> mean(d);
            double count = 0;
            for (std::size_t row = 0; row < n; ++row) {
                if (!(norm_of_row(row) <= 4 * whole) || !std::isfinite(whole)) continue;
                for (std::size_t j = 0; j < d; ++j) mean[j] += host_points_.values[row * d + j];
                ++count;
            }
            for (std::size_t j = 0; j < d; ++j) centre[j] = mean[j] / std::max(count, 1.0);
            left = typical();
        }
        centre_on_device_ = gpu::Buffer<double>(static_cast<std::int64_t>(d), nullptr);
        gpu_arrays::check(cudaMemcpy(centre_on_device_.get(), centre.data(), d * sizeof(double), cudaMemcpyDefault));
        form_.gemm = products == Products::shifted ? Gemm::l2 : Gemm::dot;
        form_.centre = products == Products::plain ? nullptr : centre_on_device_.get();
        form_.centre_norm = 0;
        for (const double c : centre) form_.centre_norm += c * c;
        form_.centre_norm = std::sqrt(form_.centre_norm);
        form_.query_scale = 32;
        form_.product_norm = products == Products::shifted && whole > 0 && std::isfinite(whole) ? whole : 0;
        if (products == Products::shifted && form_.product_norm == 0) form_.product_norm = 1;
        form_.scale = 1;
        if (left > 0 && std::isfinite(left)) form_.scale = std::ldexp(1.0, std::clamp(5 - std::ilogb(left), -400, 400));
        form_.kappa = std::max(form_.gamma / 2, gpu::half_residual / 2);
    }

    // Of augmented vectors, with thresholds among the values, far above and far below them: what passes has a value
    // within the bound as it has grown, and what is within a threshold passes.
    void augmented(const Terms& plain, gpu::FilterPass pass, std::int64_t padded, Seen& seen) const {
        const std::int64_t n = points_.view.rows, q = queries_.view.rows;
        const std::vector<float> values = to_host(pass.all, q * padded);
        gpu::Buffer<char> point_terms(padded * 2 * gpu::augmented_terms, nullptr),
            query_terms(gpu::augmented_query_rows(q) * 2 * gpu::augmented_terms, nullptr);
        gpu::Buffer<float> threshold(q, nullptr), base(q, nullptr), error(q, nullptr);
        gpu::Buffer<gpu::Candidate> candidates(q * padded, nullptr);
        gpu::Buffer<std::int32_t> counts(q, nullptr);
        gpu::augment_points(pass.half_norm, padded, point_terms.get(), nullptr);
        pass.all = nullptr;
        pass.point_terms = point_terms.get();
        pass.query_terms = query_terms.get();
        pass.threshold = threshold.get();
        pass.candidates = candidates.get();
        pass.counts = counts.get();
        pass.capacity = padded;
        static const std::vector<float> factors = {1, 0, 2, -2, 1000, -1000};
        static std::size_t turn = 0;
        std::vector<float> wanted;
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<float> own(values.begin() + i * padded, values.begin() + i * padded + n);
            std::nth_element(own.begin(), own.begin() + n / 2, own.end());
            const float middle = own[static_cast<std::size_t>(n / 2)];
            wanted.push_back(std::isfinite(middle) ? middle * factors[turn++ % factors.size()] : 1.0f);
        }
        const auto bytes = static_cast<std::size_t>(q) * sizeof(float);
        gpu_arrays::check(cudaMemcpy(threshold.get(), wanted.data(), bytes, cudaMemcpyHostToDevice));
        for (gpu::Buffer<float>* const copy : {&base, &error})
            gpu_arrays::check(cudaMemcpy(copy->get(), plain.e.data(), bytes, cudaMemcpyHostToDevice));
        counts.clear_to(0);
        gpu::augment_queries(q, plain.form.gamma, base.get(), threshold.get(), error.get(), query_terms.get(), nullptr);
        gpu::sweep(pass, gpu::FilterIsa::sm_90a, nullptr);
        Terms grown = plain;
        grown.e = to_host(error.get(), q);
        const std::vector<float> used = to_host(threshold.get(), q);
        const std::vector<std::int32_t> count = to_host(counts.get(), q);
        const std::vector<gpu::Candidate> found = to_host(candidates.get(), q * padded);
        const std::string label = label_ + ", augmented";
        for (std::int64_t i = 0; i < q; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const auto where = [&] { return label + ", query " + std::to_string(i); };
            ASSERT_GE(grown.e[at], plain.e[at]) << where();
            ASSERT_TRUE(!(plain.e[at] >= 0) || used[at] >= wanted[at] + (grown.e[at] - plain.e[at]) * 0.999f)
                << where();
            std::vector<bool> passed(static_cast<std::size_t>(n));
            for (std::int32_t c = 0; c < count[at]; ++c) {
                const gpu::Candidate& entry =
                    found[at * static_cast<std::size_t>(padded) + static_cast<std::size_t>(c)];
                ASSERT_LT(entry.point, n) << where();
                ASSERT_FALSE(passed[entry.point]) << where() << ": position " << entry.point << " twice";
                passed[entry.point] = true;
                ASSERT_LE(entry.a, used[at]) << where();
                check_pair(grown, i, gpu::row_at(plain.form, entry.point, n), entry.point, entry.a, label, seen);
                if (testing::Test::HasFatalFailure()) return;
            }
            if (plain.unfit[at]) continue;
            for (std::int64_t p = 0; p < n; ++p) {
                // Both values are within E and F of the same number.
                const float a = values[at * static_cast<std::size_t>(padded) + static_cast<std::size_t>(p)],
                            f = plain.f[static_cast<std::size_t>(p)],
                            apart = 2 * grown.e[at] + 2 * (std::isfinite(f) ? f : 0);
                if (a + apart <= wanted[at]) {
                    ASSERT_TRUE(passed[static_cast<std::size_t>(p)])
                        << where() << ", position " << p << " of value " << a << " is left out by a threshold of "
                        << wanted[at];
                }
            }
        }
    }

    void check(const Terms& terms, const std::vector<float>& all, std::int64_t ld, const std::string& label,
               Seen& seen) const {
        const auto n = points_.view.rows, q = queries_.view.rows;
        std::vector<std::int64_t> position(static_cast<std::size_t>(n));
        for (std::int64_t p = 0; p < n; ++p) position[static_cast<std::size_t>(gpu::row_at(terms.form, p, n))] = p;
        for (std::int64_t i = 0; i < q; ++i) {
            for (std::int64_t p = 0; p < n; ++p) {
                const std::int64_t row = gpu::row_at(terms.form, p, n);
                const float a = all[static_cast<std::size_t>(i * ld + p)];
                check_pair(terms, i, row, p, a, label, seen);
                if (testing::Test::HasFatalFailure()) return;
                if (!among_ || terms.unfit[static_cast<std::size_t>(row)]) continue;
                // The same product for the point as query.
                const std::int64_t from = position[static_cast<std::size_t>(i)];
                const float exchanged =
                    a - terms.h[static_cast<std::size_t>(p)] + terms.h[static_cast<std::size_t>(from)];
                check_pair(terms, row, i, from, exchanged, label + ", exchanged", seen);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }

    void check_pair(const Terms& terms, std::int64_t i, std::int64_t row, std::int64_t position, float a,
                    const std::string& label, Seen& seen) const {
        const float infinity = std::numeric_limits<float>::infinity(), f = terms.f[static_cast<std::size_t>(position)];
        const auto where = [&] { return label + ", query " + std::to_string(i) + ", point " + std::to_string(row); };
        if (host_points_.nan[static_cast<std::size_t>(row)]) {
            ASSERT_EQ(infinity, a) << where();
            return;
        }
        ++seen.pairs;
        if (f == infinity) {
            ASSERT_EQ(-infinity, a) << where();
            return;
        }
        if (terms.unfit[static_cast<std::size_t>(i)]) return;
        ++seen.covered;
        if (truth_.canonical[static_cast<std::size_t>(i * points_.view.rows + row)] == infinity) {
            ASSERT_GE(a, terms.form.ceiling) << where() << ": the key is infinite";
            return;
        }
        const long double e = terms.e[static_cast<std::size_t>(i)], low = a - e,
                          high = a + e + 2 * static_cast<long double>(f);
        // A product is as large as the scale of the points, and that of cross entropies depends on the terms.
        const long double scaled = terms.form.scale / form_.scale;
        for (const auto& [kind, values] : {std::pair{"exact", &truth_.exact}, {"canonical", &truth_.canonical}}) {
            const long double w = scaled * (*values)[static_cast<std::size_t>(i * points_.view.rows + row)];
            ASSERT_TRUE(low <= w && w <= high)
                << where() << ": the " << kind << " value " << static_cast<double>(w) << " is not in ["
                << static_cast<double>(low) << ", " << static_cast<double>(high) << "], outside by "
                << static_cast<double>(std::max(low - w, w - high)) << " with E " << static_cast<double>(e) << ", F "
                << f;
            const auto share = static_cast<double>(std::abs(w - (low + high) / 2) / ((high - low) / 2));
            if (share <= seen.largest_share) continue;
            seen.largest_share = share;
            seen.at = where();
        }
    }

    Judge judge_;
    bool among_;
    std::string label_;
    arrays::Array points_, queries_;
    std::vector<double> scaled_points_, scaled_queries_;  // where the metric has rows beyond its range scaled
    std::shared_ptr<const gpu::Points> prepared_;
    gpu::DeviceRows rows_;
    gpu::FilterForm form_;
    gpu::Buffer<double> centre_on_device_;
    std::vector<double> centre_;
    Prepared host_points_, host_queries_;
    Truth truth_;
};

class GpuBound : public testing::TestWithParam<std::string> {
protected:
    void TearDown() override {
        RecordProperty("largest_share_of_the_bound", std::to_string(seen_.largest_share));
        RecordProperty("where", seen_.at);
        std::printf("[     NOTE ] at most %.3f of the bound (%s); %lld of %lld pairs covered\n", seen_.largest_share,
                    seen_.at.c_str(), static_cast<long long>(seen_.covered), static_cast<long long>(seen_.pairs));
    }

    void attack(const std::string& what, std::int64_t d, ElementType type) {
        const Attack attack(GetParam(), what, d, type, seed_++);
        for (const int terms : {1, 2}) {
            // Any kappa above zero is right; it is what the sample says that costs least.
            for (const double kappa : {1.0, 1.0 / 64, 64.0}) {
                if (kappa != 1 && (d > 100 || seed_ % 3 != 0)) continue;
                attack.run(terms, kappa, seen_);
                if (HasFatalFailure()) return;
            }
        }
    }

    Seen seen_;
    std::uint64_t seed_ = 1;
};

TEST_P(GpuBound, EveryAttack) {
    for (const auto& [what, maker] : bound_attacks::makers()) {
        for (const std::int64_t d : {1, 2, 15, 16, 17, 100, 784, 4096}) {
            attack(what, d, arrays::element_types[seed_ % 6]);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    EXPECT_GT(seen_.covered, seen_.pairs / 2);
}

TEST_P(GpuBound, EveryDataSet) {
    for (const std::string& what : adversarial::names()) {
        for (const std::int64_t d : {2, 17, 100}) {
            attack(what, d, arrays::element_types[seed_ % 6]);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}

// A graph computes a pair once and exchanges what the sum started from: the value for the other side.
TEST_P(GpuBound, EveryAttackExchanged) {
    if (const Gemm form = judge(GetParam()).form; form == Gemm::dot || form == Gemm::cross_entropy)
        GTEST_SKIP() << "its queries are no points";
    for (const auto& [what, maker] : bound_attacks::makers()) {
        if (what.starts_with("fp16")) continue;  // they aim at what queries have that points have not
        for (const std::int64_t d : {1, 17, 100}) {
            const Attack attack(GetParam(), what, d, arrays::element_types[seed_ % 6], seed_, true);
            ++seed_;
            attack.run(1, 1, seen_);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    EXPECT_GT(seen_.covered, seen_.pairs / 2);
}

TEST_P(GpuBound, EveryAttackOnEntropies) {
    if (judge(GetParam()).form != Gemm::cross_entropy) GTEST_SKIP() << "takes no logarithms";
    for (const auto& [what, maker] : entropy_attacks::makers()) {
        for (const std::int64_t d : {1, 2, 15, 17, 100, 784}) {
            attack(what, d, seed_ % 2 ? ElementType::f32 : ElementType::f64);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}

// So many that the accumulated error is a per cent.
TEST_P(GpuBound, ManyDimensions) {
    for (const char* what : {"residuals of 11 bits", "one sign"}) {
        attack(what, 20000, ElementType::f32);
        ASSERT_FALSE(HasFatalFailure());
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuBound,
                         testing::Values("sqeuclidean", "hellinger", "inner_product", "inner_product_plain",
                                         "inner_product_centred", "inner_product_shifted", "cosine", "correlation",
                                         "kl_divergence"),
                         [](const auto& info) { return info.param; });

// Products of fp16 denormals are aligned as if they were normal, and what the sum starts from is cut off there: points
// 0 and 2 are equally far from 1, but only just, next to points that make these numbers denormal.
TEST(GpuBoundSearch, TiesOfDenormals) {
    std::vector<float> points = {0, 2};
    for (int i = 0; i < 400; ++i) points.push_back(std::ldexp(i % 2 ? 1.0f : -1.0f, 26));
    const float query = 1;
    Options options;
    options.device = "cuda";
    options.path = "gemm-f16";
    for (const std::int64_t k : {1, 2}) {
        const Neighbors found =
            search(view(points.data(), static_cast<std::int64_t>(points.size()), 1), view(&query, 1, 1), k, options);
        for (std::int64_t i = 0; i < k; ++i) EXPECT_EQ(i, found.ids[static_cast<std::size_t>(i)]) << "k " << k;
    }
}

}  // namespace
