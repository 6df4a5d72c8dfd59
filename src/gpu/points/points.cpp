// Bringing points to the device and preparing them; see points.h.
#include "gpu/points/points.h"

#include "exact/factor.h"
#include "exact/watched.h"
#include "gpu/filter/direct.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/metric/user.h"
#include "gpu/points/repeats.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/upload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace kith::gpu {

DeviceRows upload(const MatrixView& v, std::int64_t first, std::int64_t count, bool copy, cudaStream_t stream,
                  const CopyWatch& watch) {
    DeviceRows out;
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    if (v.device == device && !copy) {
        out.rows = slice(rows_of(v), first, count);
        return out;
    }
    const auto element = static_cast<std::int64_t>(size_of(v.type));
    const bool row_major = v.layout == Layout::row_major;
    out.elements = Buffer<char>(count * v.cols * element, stream);
    // Dense in the same layout: `lines` runs of `length` elements.
    const std::int64_t lines = row_major ? count : v.cols, length = row_major ? v.cols : count;
    const char* const from = static_cast<const char*>(v.data) + (row_major ? first * v.stride : first) * element;
    copy_to_device(out.elements.get(), {from, lines, length * element, v.stride * element}, stream, watch);
    out.rows = {out.elements.get(), count, row_major ? v.cols : 1, row_major ? 1 : count, v.type};
    return out;
}

void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream) {
    rows.aux = Buffer<double>(rows.rows.count * metric::max_aux, stream);
    rows.nan = Buffer<std::uint8_t>(rows.rows.count, stream);
    if (metric.kernels) metric.kernels->measure(rows.rows, rows.aux.get(), rows.nan.get(), metric.params, stream);
    else user_measure(rows.rows, rows.nan.get(), metric.params.d, stream);
}

namespace {

// A stride that is prime to n, near its golden section: any run of multiples is spread evenly.
std::uint32_t spread(std::int64_t n) {
    auto stride = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(n));
    while (stride > 1 && std::gcd(stride, n) != 1) --stride;
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, stride));
}

// Centre, scale and kappa from a sample of the points, less its far outliers. They affect how tight the bound is, not
// the answer.
class SampledForm {
public:
    SampledForm(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out, cudaStream_t stream)
        : points_(points), metric_(metric), out_(out), form_(out.form), d_(metric.params.d), stream_(stream) {
        take();
        if (form_.unit) {
            make_unit();
            if (!choose_unit_centre()) return;
        } else {
            typical_ = typical();
            if (!std::isfinite(typical_)) return;
            if (form_.gemm == metric::Gemm::l2) choose_centre();
            if (typical_ == 0) typical_ = largest();
            if (typical_ > 0) form_.scale = power_of_two(5 - std::ilogb(typical_), 400);
        }
        choose_kappa();
    }

private:
    // A scale at which the typical norm is near 32: an exact scaling that leaves fp16 room above for points of a
    // thousand times that norm, and below for small coordinates. The limits are those beyond which binary64 squares,
    // and with them distance keys, would lose bits.
    static double power_of_two(int exponent, int most) { return std::ldexp(1.0, std::clamp(exponent, -400, most)); }
    double* row(std::int64_t s) { return rows_.data() + s * d_; }

    // The coordinates of the sample, after the factor where the form has a centre to take off before.
    void take() {
        Buffer<double> rows(samples_ * d_, stream_);
        FilterForm form = form_;
        if (!form.centre) form.factor.matrix = nullptr;
        metric_.kernels->sample(points_.prepared(), samples_, form, rows.get(), metric_.params, stream_);
        rows_.resize(static_cast<std::size_t>(samples_ * d_));
        InFlight copy(stream_);
        check(cudaMemcpyAsync(rows_.data(), rows.get(), rows_.size() * sizeof(double), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("sample");
    }
    double norm(std::int64_t s) {
        const double* const x = row(s);
        const double norm = std::sqrt(std::inner_product(x, x + d_, x, 0.0));
        return std::isfinite(norm) ? norm : std::numeric_limits<double>::infinity();
    }
    // The median norm.
    double typical() {
        std::vector<double> norms;
        for (std::int64_t s = 0; s < samples_; ++s) norms.push_back(norm(s));
        const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
        std::nth_element(norms.begin(), middle, norms.end());
        return *middle;
    }
    double largest() {
        double most = 0;
        for (std::int64_t s = 0; s < samples_; ++s)
            if (const double size = norm(s); std::isfinite(size)) most = std::max(most, size);
        return most;
    }
    // The mean of rows that are not much longer than the typical one, taken off.
    std::vector<double> take_off_mean(double most) {
        std::vector<double> mean(static_cast<std::size_t>(d_));
        double count = 0;
        for (std::int64_t s = 0; s < samples_; ++s) {
            if (!(norm(s) <= most)) continue;
            for (std::int64_t i = 0; i < d_; ++i) mean[static_cast<std::size_t>(i)] += row(s)[i];
            count += 1;
        }
        for (double& m : mean) m /= std::max(count, 1.0);
        shift(mean);
        return mean;
    }
    void shift(const std::vector<double>& by) {
        for (std::int64_t s = 0; s < samples_; ++s)
            for (std::int64_t i = 0; i < d_; ++i) row(s)[i] -= by[static_cast<std::size_t>(i)];
    }
    void use(const std::vector<double>& centre) {
        out_.centre = Buffer<double>(d_, stream_);
        form_.centre = out_.centre.get();
        InFlight reading(stream_);
        check(cudaMemcpyAsync(out_.centre.get(), centre.data(), centre.size() * sizeof(double), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpy");
        reading.wait("sample");
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
        // A coarse centre costs the bound nothing and lets data of few bits keep coordinates that rounding leaves
        // exact.
        if (typical_ > 0 && std::isfinite(typical_)) {
            const double grid = std::ldexp(1.0, std::ilogb(typical_ / std::sqrt(static_cast<double>(d_))) - 2);
            std::vector<double> change = centre;
            for (double& c : centre) c = std::nearbyint(c / grid) * grid;
            for (std::size_t i = 0; i < change.size(); ++i) change[i] = centre[i] - change[i];
            shift(change);
            typical_ = typical();
        }
        use(centre);
    }
    // Rows without a direction become NaN, which nothing below counts.
    void make_unit() {
        for (std::int64_t s = 0; s < samples_; ++s) {
            const double size = norm(s);
            for (std::int64_t i = 0; i < d_; ++i)
                row(s)[i] =
                    size > 0 && std::isfinite(size) ? row(s)[i] / size : std::numeric_limits<double>::quiet_NaN();
        }
    }
    // Unit vectors are centred where their mean leaves little of one: half of their squared distance is their cosine
    // distance. fp16 holds unit vectors that lie elsewhere at the largest scale.
    bool choose_unit_centre() {
        constexpr double little = 0.25;
        constexpr int most_scale = 14;
        const std::vector<double> centre = take_off_mean(2);
        typical_ = typical();
        if (typical_ == 0) typical_ = largest();
        if (!(typical_ > 0 && typical_ <= little)) return false;
        form_.gemm = metric::Gemm::l2;
        form_.scale = power_of_two(5 - std::ilogb(typical_), most_scale);
        use(centre);
        return true;
    }
    // The typical relative residual of rounding.
    void choose_kappa() {
        double squares = 0, residuals = 0;
        for (std::int64_t s = 0; s < samples_; ++s) {
            if (!(norm(s) <= 4 * typical_)) continue;
            for (std::int64_t i = 0; i < d_; ++i) {
                const double x = row(s)[i] * form_.scale, first = half(x);
                const double rest = x - first, left = form_.terms == 1 ? rest : rest - half(rest);
                squares += x * x;
                residuals += left * left;
            }
        }
        const double kappa = std::sqrt(residuals / squares);
        if (std::isfinite(kappa)) form_.kappa = std::max(kappa, form_.kappa);
    }
    static double half(double x) { return static_cast<double>(__half2float(__double2half(x))); }

    const DeviceRows& points_;
    const DeviceMetric& metric_;
    FilterVectors& out_;
    FilterForm& form_;
    std::int64_t d_;
    cudaStream_t stream_;
    std::int64_t samples_ = std::min<std::int64_t>(points_.rows.count, 128);
    std::vector<double> rows_;
    double typical_ = 0;
};

}  // namespace

bool has_filter(const DeviceMetric& metric, ElementType points, FilterKind kind) {
    if (!metric.kernels) return false;
    const metric::Traits& traits = metric.kernels->traits;
    if (kind != FilterKind::direct) return metric::gpu_gemm(traits) != metric::Gemm::none;
    return points != ElementType::f64 && exact::direct_form(traits, metric.params, points).has_value();
}

namespace {

void prepare_product(const DeviceRows& points, const DeviceMetric& metric, int terms, FilterVectors& out,
                     cudaStream_t stream) {
    FilterForm& form = out.form;
    form.gemm = metric::gpu_gemm(metric.kernels->traits);
    form.factor = metric.factor;
    form.terms = terms;
    form.width = filter_width(metric.params.d, terms);
    form.gamma = filter_gamma(form.width);
    form.unit = form.gemm == metric::Gemm::cosine;
    // Rounding that costs less than accumulation is not worth telling apart.
    form.kappa = form.gamma / 2;
    if (form.unit) form.scale = 32;
    if (!metric.kernels->traits.factored || form.factor.matrix) SampledForm(points, metric, out, stream);
    if (form.gemm != metric::Gemm::l2) form.query_scale = 32;
}

float round_up(double x) {
    const auto f = static_cast<float>(x);
    return static_cast<double>(f) < x ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

void prepare_direct(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out, cudaStream_t stream) {
    FilterForm& form = out.form;
    form.direct = exact::direct_form(metric.kernels->traits, metric.params, points.rows.type).value();
    form.width = direct_width(form.direct, metric.params.d);
    const exact::DirectBound bound = exact::direct_bound(form.direct.error, metric.params.d);
    form.growth = round_up(bound.growth);
    form.lost = round_up(bound.lost);
    const std::int64_t samples = std::min<std::int64_t>(points.rows.count - 1, 63);
    if (form.direct.degree == 0 || samples <= 0) return;
    Buffer<double> differences(samples, stream);
    std::vector<double> host(static_cast<std::size_t>(samples));
    metric.kernels->largest_differences(points.prepared(), samples, differences.get(), metric.params, stream);
    InFlight copy(stream);
    check(cudaMemcpyAsync(host.data(), differences.get(), host.size() * sizeof(double), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("sample");
    form.scale = exact::direct_scale(form.direct, std::move(host));
}

}  // namespace

FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, FilterKind kind,
                             cudaStream_t stream) {
    const std::int64_t n = points.rows.count;
    FilterVectors out;
    out.form.stride = spread(n);
    if (kind == FilterKind::direct) prepare_direct(points, metric, out, stream);
    else prepare_product(points, metric, kind == FilterKind::one_term ? 1 : 2, out, stream);
    out.vectors = Buffer<char>(vector_bytes(out.form, n), stream);
    out.half_norm = Buffer<float>(whole_tiles(n), stream);
    out.point_error = Buffer<float>(whole_tiles(n), stream);
    metric.kernels->filter_points(points.prepared(), out.form, out.vectors.get(), out.half_norm.get(),
                                  out.point_error.get(), metric.params, stream);
    return out;
}

const FilterVectors& finer_filter(const Chunk& chunk, const DeviceMetric& metric, FilterKind kind) {
    const std::lock_guard lock(chunk.finer->mutex);
    auto& made = kind == FilterKind::direct ? chunk.finer->direct : chunk.finer->two_terms;
    if (!made) {
        // It outlives this search, so it is not tied to its stream.
        InFlight work(nullptr);
        auto filter = std::make_unique<FilterVectors>(prepare_filter(chunk.points, metric, kind, nullptr));
        work.wait("preparing a finer filter");
        made = std::move(filter);
    }
    return *made;
}

const Repeats* known_repeats(const Chunk& chunk) {
    const std::lock_guard lock(chunk.finer->mutex);
    const Repeats* const found = chunk.finer->repeats.get();
    return found && found->many() ? found : nullptr;
}

const Repeats& repeats_of(const Chunk& chunk, std::int64_t d) {
    const std::lock_guard lock(chunk.finer->mutex);
    auto& found = chunk.finer->repeats;
    if (!found) {
        InFlight work(nullptr);
        auto repeats = std::make_shared<const Repeats>(count_repeats(chunk.points.rows, d, nullptr));
        work.wait("counting equal rows");
        found = std::move(repeats);
    }
    return *found;
}

namespace {

constexpr const char* stage = "prepare";

// Who prepares: threads of the host, and what they poll.
struct Host {
    int threads;
    ProgressMeter& progress;
};

void to_device(Buffer<double>& to, const std::vector<double>& from, cudaStream_t stream, const Host& host) {
    const auto bytes = static_cast<std::int64_t>(from.size() * sizeof(double));
    InFlight reading(stream);
    copy_to_device(to.get(), {reinterpret_cast<const char*>(from.data()), 1, bytes, bytes}, stream,
                   {nullptr, &host.progress, stage, host.threads});
    reading.wait("copy of the metric's constants");
}

// The factor of the metric's matrix, for the filter.
void add_factor(DeviceMetric& m, cudaStream_t stream, const Host& host) {
    const std::int64_t d = m.params.d;
    const exact::Factor factor = exact::factorise(*m.spec.constants, d, host.threads, host.progress);
    if (factor.values.empty()) return;
    const auto size = static_cast<std::int64_t>(factor.values.size());
    m.factors = Buffer<double>(size, stream);
    to_device(m.factors, factor.values, stream, host);
    m.factor.matrix = m.factors.get();
    m.factor.weights = m.factors.get() + d * d;
    m.factor.coordinate_error = factor.coordinate_error;
    m.factor.rank_error = factor.rank_error;
}

// The transpose of a d x d matrix.
std::vector<double> transposed(const std::vector<double>& matrix, std::int64_t d, const Host& host) {
    std::vector<double> out(matrix.size());
    watched_for(host.threads, d, 16, host.progress, stage, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = first; j < last; ++j)
                out[static_cast<std::size_t>(j * d + i)] = matrix[static_cast<std::size_t>(i * d + j)];
    });
    host.progress.throw_if_cancelled();
    return out;
}

DeviceMetric device_metric(const MetricSpec& spec, bool filter, cudaStream_t stream, const Host& host) {
    DeviceMetric m;
    m.spec = spec;
    m.params = spec.params;
    m.params.constants = nullptr;
    if (spec.id != MetricId::formula && spec.id != MetricId::functor) m.kernels = &metric_kernels(spec.id);
    if (spec.constants) {
        m.constants = Buffer<double>(static_cast<std::int64_t>(spec.constants->size()), stream);
        if (m.kernels->traits.whole_vector)
            to_device(m.constants, transposed(*spec.constants, spec.params.d, host), stream, host);
        else to_device(m.constants, *spec.constants, stream, host);
        m.params.constants = m.constants.get();
    }
    if (filter && m.kernels->traits.factored) add_factor(m, stream, host);
    return m;
}

MatrixView view_of(const Rows& r, std::int64_t d, int device) {
    const bool row_major = r.col_stride == 1;
    return {r.data, r.count,
            d,      row_major ? r.row_stride : r.col_stride,
            r.type, row_major ? Layout::row_major : Layout::column_major,
            device};
}

// A dense host copy in the same layout.
MatrixView copy_to_host(const MatrixView& v, std::vector<std::byte>& storage, const Host& host) {
    constexpr std::int64_t piece = 4 << 20;
    const auto element = static_cast<std::int64_t>(size_of(v.type));
    const bool row_major = v.layout == Layout::row_major;
    const std::int64_t lines = row_major ? v.rows : v.cols, length = row_major ? v.cols : v.rows;
    storage.resize(static_cast<std::size_t>(lines * length * element));
    const Runs runs{static_cast<const char*>(v.data), lines, length * element, v.stride * element};
    watched_for(host.threads, lines * length * element, piece, host.progress, stage,
                [&](std::int64_t first, std::int64_t last) {
                    gather(runs, first, last - first, reinterpret_cast<char*>(storage.data()) + first);
                });
    host.progress.throw_if_cancelled();
    MatrixView out = v;
    out.data = storage.data();
    out.stride = length;
    return out;
}

}  // namespace

std::shared_ptr<const Points> prepare(const MatrixView& view, const MetricSpec& spec, const Plan& plan, bool copy,
                                      void* caller_stream, int threads, ProgressMeter& progress) {
    const DeviceScope scope(plan.device);
    const Host host{threads, progress};
    const CopyWatch watch{nullptr, &progress, stage, threads};
    auto* stream = static_cast<cudaStream_t>(caller_stream);
    if (copy) {
        // What outlives the call must not be tied to a stream that may not.
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        stream = nullptr;
    }
    auto points = std::make_shared<Points>(plan.device, stream);
    InFlight work(stream);
    points->n = view.rows;
    points->d = view.cols;
    points->metric = device_metric(spec, plan.path == Path::gemm_f16, stream, host);
    points->streams = plan.chunk_points < view.rows;
    points->source = view;
    if (points->streams) {
        if (copy && view.device == host_memory) {
            points->source = copy_to_host(view, points->owned, host);
        } else if (copy) {
            points->owned_on_device = upload(view, 0, view.rows, true, stream, watch);
            points->source = view_of(points->owned_on_device.rows, view.cols, plan.device);
        }
        work.wait("preparing the points");
        return points;
    }
    Chunk& chunk = points->resident;
    chunk.points = upload(view, 0, view.rows, copy, stream, watch);
    measure(chunk.points, points->metric, stream);
    if (plan.path != Path::exact)
        chunk.filter = prepare_filter(chunk.points, points->metric, kind_of(plan.path), stream);
    progress.poll(stage);
    progress.throw_if_cancelled();
    work.wait("preparing the points");
    return points;
}

MatrixView elements(const Points& p) {
    if (p.streams) return p.source;
    return view_of(p.resident.points.rows, p.d, p.device);
}

}  // namespace kith::gpu
