// Bringing points to the device and preparing them; see points.h.
#include "gpu/points.h"

#include "gpu/distance/user.h"
#include "gpu/filter/pass.h"
#include "gpu/tuning.h"
#include "gpu/upload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace kith::gpu {

DeviceRows upload(const MatrixView& v, std::int64_t first, std::int64_t count, bool own, cudaStream_t stream,
                  const std::atomic<bool>* stop) {
    DeviceRows out;
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    if (v.device == device && !own) {
        out.rows = slice(rows_of(v), first, count);
        return out;
    }
    const auto element = static_cast<std::int64_t>(size_of(v.type));
    const bool row_major = v.layout == Layout::row_major;
    out.elements = Buffer<char>(count * v.cols * element, stream);
    // Dense in the same layout: `lines` runs of `length` elements.
    const std::int64_t lines = row_major ? count : v.cols, length = row_major ? v.cols : count;
    const char* const from = static_cast<const char*>(v.data) + (row_major ? first * v.stride : first) * element;
    copy_to_device(out.elements.get(), {from, lines, length * element, v.stride * element}, stream, stop);
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

// Centre, scale and kappa from a sample of the points.
class SampledForm {
public:
    SampledForm(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out, cudaStream_t stream)
        : points_(points),
          metric_(metric),
          out_(out),
          form_(out.form),
          stream_(stream),
          sums_(metric.params.d + 2, stream),
          host_(static_cast<std::size_t>(metric.params.d) + 2) {
        FilterForm& form = form_;
        take();
        if (form.gemm == metric::Gemm::l2) centre();
        // A power of two brings the typical norm near 32: an exact scaling that leaves fp16 room above for points of a
        // thousand times that norm, and below for small coordinates. The limits are those beyond which binary64
        // squares, and with them canonical ranks, would lose bits.
        const double typical = std::sqrt(squares() / static_cast<double>(samples_));
        if (std::isfinite(typical) && typical > 0)
            form.scale = std::ldexp(1.0, std::clamp(5 - std::ilogb(typical), -400, 400));
        take();
        const double kappa = std::sqrt(residuals() / squares());
        if (std::isfinite(kappa)) form.kappa = std::max(kappa, form.kappa);
    }

private:
    double squares() const { return host_[host_.size() - 2]; }
    double residuals() const { return host_.back(); }
    void take() {
        metric_.kernels->sample(points_.prepared(), samples_, form_, sums_.get(), metric_.params, stream_);
        InFlight copy(stream_);
        check(cudaMemcpyAsync(host_.data(), sums_.get(), host_.size() * sizeof(double), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("sample");
    }
    void centre() {
        const std::size_t d = host_.size() - 2;
        std::vector<float> centre(d);
        const InFlight reading(stream_);
        for (std::size_t i = 0; i < d; ++i) {
            centre[i] = static_cast<float>(host_[i] / static_cast<double>(samples_));
            if (!std::isfinite(centre[i])) centre[i] = 0;
        }
        out_.centre = Buffer<float>(static_cast<std::int64_t>(d), stream_);
        form_.centre = out_.centre.get();
        const auto use = [&] {
            check(cudaMemcpyAsync(out_.centre.get(), centre.data(), d * sizeof(float), cudaMemcpyDefault, stream_),
                  "cudaMemcpy");
            take();
        };
        use();
        if (metric_.kernels->traits.factored) return;  // the squares are those of other coordinates
        // A coarse centre costs the bound nothing and lets data of few bits keep coordinates that rounding leaves
        // exact.
        const double spread = std::sqrt(squares() / static_cast<double>(samples_) / static_cast<double>(d));
        if (!std::isfinite(spread) || spread <= 0) return;
        const double grid = std::ldexp(1.0, std::ilogb(spread) - 2);
        for (float& c : centre) c = static_cast<float>(std::nearbyint(c / grid) * grid);
        use();
    }

    const DeviceRows& points_;
    const DeviceMetric& metric_;
    FilterVectors& out_;
    FilterForm& form_;
    cudaStream_t stream_;
    Buffer<double> sums_;
    std::vector<double> host_;
    std::int64_t samples_ = std::min<std::int64_t>(points_.rows.count, 128);
};

}  // namespace

FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, int terms, cudaStream_t stream) {
    const std::int64_t n = points.rows.count;
    FilterVectors out;
    FilterForm& form = out.form;
    form.gemm = metric::gpu_gemm(metric.kernels->traits);
    form.factor = metric.factor;
    form.terms = terms;
    form.width = filter_width(metric.params.d, terms);
    form.gamma = filter_gamma(form.width);
    form.unit = form.gemm == metric::Gemm::cosine;
    form.stride = spread(n);
    // Rounding that costs less than accumulation is not worth telling apart.
    form.kappa = form.gamma / 2;
    if (form.unit) form.scale = 32;
    else if (!metric.kernels->traits.factored || form.factor.matrix) SampledForm(points, metric, out, stream);
    if (form.gemm != metric::Gemm::l2) form.query_scale = 32;
    out.vectors = Buffer<__half>(n * form.width, stream);
    out.h = Buffer<float>(whole_tiles(n), stream);
    out.f = Buffer<float>(whole_tiles(n), stream);
    metric.kernels->filter_points(points.prepared(), form, out.vectors.get(), out.h.get(), out.f.get(), metric.params,
                                  stream);
    return out;
}

const FilterVectors& finer_filter(const Chunk& chunk, const DeviceMetric& metric) {
    const std::lock_guard lock(chunk.finer->mutex);
    if (!chunk.finer->made) {
        // It outlives this search, so it is not tied to its stream.
        InFlight work(nullptr);
        auto made = std::make_unique<FilterVectors>(prepare_filter(chunk.points, metric, 2, nullptr));
        work.wait("preparing the points in two terms");
        chunk.finer->made = std::move(made);
    }
    return *chunk.finer->made;
}

namespace {

// The factor of the metric's matrix, for the filter.
void add_factor(DeviceMetric& m, cudaStream_t stream) {
    const std::int64_t d = m.params.d;
    const Factor factor = factorise(*m.spec.constants, d);
    if (factor.values.empty()) return;
    const auto size = static_cast<std::int64_t>(factor.values.size());
    m.factors = Buffer<double>(size, stream);
    InFlight reading(stream);
    check(cudaMemcpyAsync(m.factors.get(), factor.values.data(), factor.values.size() * sizeof(double),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("copy of the factor");
    m.factor.matrix = m.factors.get();
    m.factor.weights = m.factors.get() + d * d;
    m.factor.coordinate_error = factor.coordinate_error;
    m.factor.rank_error = factor.rank_error;
}

DeviceMetric device_metric(const MetricSpec& spec, bool filter, cudaStream_t stream) {
    DeviceMetric m;
    m.spec = spec;
    m.params = spec.params;
    m.params.constants = nullptr;
    if (spec.id != MetricId::formula && spec.id != MetricId::functor) m.kernels = &metric_kernels(spec.id);
    if (spec.constants) {
        const std::int64_t d = spec.params.d;
        std::vector<double> constants = *spec.constants;
        if (m.kernels->traits.whole_vector) {
            for (std::int64_t i = 0; i < d; ++i)
                for (std::int64_t j = 0; j < d; ++j)
                    constants[static_cast<std::size_t>(j * d + i)] =
                        (*spec.constants)[static_cast<std::size_t>(i * d + j)];
        }
        m.constants = Buffer<double>(static_cast<std::int64_t>(constants.size()), stream);
        InFlight reading(stream);
        check(cudaMemcpyAsync(m.constants.get(), constants.data(), constants.size() * sizeof(double), cudaMemcpyDefault,
                              stream),
              "cudaMemcpy");
        reading.wait("copy of the metric's constants");
        m.params.constants = m.constants.get();
    }
    if (filter && m.kernels->traits.factored) add_factor(m, stream);
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
MatrixView copy_to_host(const MatrixView& v, std::vector<std::byte>& storage) {
    const auto element = static_cast<std::int64_t>(size_of(v.type));
    const bool row_major = v.layout == Layout::row_major;
    const std::int64_t lines = row_major ? v.rows : v.cols, length = row_major ? v.cols : v.rows;
    storage.resize(static_cast<std::size_t>(lines * length * element));
    for (std::int64_t i = 0; i < lines; ++i)
        std::memcpy(storage.data() + i * length * element, static_cast<const char*>(v.data) + i * v.stride * element,
                    static_cast<std::size_t>(length * element));
    MatrixView out = v;
    out.data = storage.data();
    out.stride = length;
    return out;
}

}  // namespace

std::shared_ptr<const Points> prepare(const MatrixView& view, const MetricSpec& spec, const Plan& plan, bool own,
                                      void* caller_stream) {
    const DeviceScope scope(plan.device);
    auto* stream = static_cast<cudaStream_t>(caller_stream);
    if (own) {
        // What outlives the call must not be tied to a stream that may not.
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        stream = nullptr;
    }
    auto points = std::make_shared<Points>();
    InFlight work(stream);
    points->device = plan.device;
    points->n = view.rows;
    points->d = view.cols;
    points->metric = device_metric(spec, plan.path != "exact", stream);
    points->streams = plan.chunk_points < view.rows;
    points->source = view;
    if (points->streams) {
        if (own && view.device == host_memory) {
            points->source = copy_to_host(view, points->owned);
        } else if (own) {
            points->owned_on_device = upload(view, 0, view.rows, true, stream);
            points->source = view_of(points->owned_on_device.rows, view.cols, plan.device);
        }
        work.wait("preparing the points");
        return points;
    }
    Chunk& chunk = points->resident;
    chunk.points = upload(view, 0, view.rows, own, stream);
    measure(chunk.points, points->metric, stream);
    if (plan.path != "exact") chunk.filter = prepare_filter(chunk.points, points->metric, 1, stream);
    work.wait("preparing the points");
    return points;
}

MatrixView elements(const Points& p) {
    if (p.streams) return p.source;
    return view_of(p.resident.points.rows, p.d, p.device);
}

}  // namespace kith::gpu
