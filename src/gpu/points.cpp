// Bringing points to the device and preparing them; see points.h.
#include "gpu/points.h"

#include "gpu/distance/user.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kith::gpu {

DeviceRows upload(const MatrixView& v, std::int64_t first, std::int64_t count, bool own, cudaStream_t stream) {
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
    check(cudaMemcpy2DAsync(out.elements.get(), static_cast<std::size_t>(length * element), from,
                            static_cast<std::size_t>(v.stride * element), static_cast<std::size_t>(length * element),
                            static_cast<std::size_t>(lines), cudaMemcpyDefault, stream),
          "copy to the device");
    out.rows = {out.elements.get(), count, row_major ? v.cols : 1, row_major ? 1 : count, v.type};
    return out;
}

void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream) {
    rows.aux = Buffer<double>(rows.rows.count * metric::max_aux, stream);
    rows.nan = Buffer<std::uint8_t>(rows.rows.count, stream);
    if (metric.kernels) metric.kernels->measure(rows.rows, rows.aux.get(), rows.nan.get(), metric.params, stream);
    else user_measure(rows.rows, rows.nan.get(), metric.params.d, stream);
}

void prepare_filter(Chunk& chunk, const DeviceMetric& metric, const std::string& path, cudaStream_t stream) {
    const std::int64_t n = chunk.points.rows.count, d = metric.params.d;
    FilterForm form;
    form.gemm = metric.kernels->traits.gemm;
    form.tf32 = path == "gemm-tf32";
    form.width = (d + 3 + 7) / 8 * 8;
    form.kappa = form.tf32 ? 0x1.ap-13 : 0x1.ap-26;  // near the mean of rounding to 11 or 24 bits; any value is correct
    // Tensor cores cut each step of K products and the accumulator at 2^-23 of the largest: (K + 2) / K 2^-23 per term,
    // 1.5 for K = 4. Plain f32 rounds: 2^-24. Then the second-order terms.
    form.gamma = 3.0 * static_cast<double>(form.width + 8) * 0x1p-24;
    form.gamma *= 1 + 4 * form.gamma;
    form.unit = form.gemm == metric::Gemm::cosine;
    if (!form.unit) {
        const std::int64_t samples = std::min<std::int64_t>(n, 256);
        Buffer<double> sums(d + 1, stream);
        std::vector<double> host(static_cast<std::size_t>(d) + 1);
        const auto sample = [&](const float* centre) {
            metric.kernels->sample(chunk.points.prepared(), samples, centre, sums.get(), metric.params, stream);
            check(cudaMemcpyAsync(host.data(), sums.get(), host.size() * sizeof(double), cudaMemcpyDefault, stream),
                  "cudaMemcpy");
            check(cudaStreamSynchronize(stream), "sample");
        };
        sample(nullptr);
        if (form.gemm == metric::Gemm::l2) {
            std::vector<float> centre(static_cast<std::size_t>(d));
            for (std::size_t i = 0; i < centre.size(); ++i) {
                centre[i] = static_cast<float>(host[i] / static_cast<double>(samples));
                if (!std::isfinite(centre[i])) centre[i] = 0;
            }
            chunk.centre = Buffer<float>(d, stream);
            form.centre = chunk.centre.get();
            const auto use = [&] {
                check(cudaMemcpyAsync(chunk.centre.get(), centre.data(), centre.size() * sizeof(float),
                                      cudaMemcpyDefault, stream),
                      "cudaMemcpy");
                sample(form.centre);
            };
            use();
            // A coarse centre costs the bound nothing and lets data of few bits keep coordinates that rounding leaves
            // exact.
            const double spread = std::sqrt(host[static_cast<std::size_t>(d)] / static_cast<double>(samples * d));
            if (std::isfinite(spread) && spread > 0) {
                const double grid = std::ldexp(1.0, std::ilogb(spread) - 2);
                for (float& c : centre) c = static_cast<float>(std::nearbyint(c / grid) * grid);
                use();
            }
        }
        // A power of two brings the typical norm near 1: an exact scaling that keeps f32 from overflow and underflow,
        // within limits beyond which binary64 squares, and with them canonical ranks, would lose bits.
        const double typical = std::sqrt(host[static_cast<std::size_t>(d)] / static_cast<double>(samples));
        if (std::isfinite(typical) && typical > 0)
            form.scale = std::ldexp(1.0, std::clamp(-std::ilogb(typical), -400, 400));
    }
    chunk.form = form;
    chunk.vectors = Buffer<float>(n * form.width, stream);
    chunk.f = Buffer<float>(n, stream);
    metric.kernels->filter_points(chunk.points.prepared(), form, chunk.vectors.get(), chunk.f.get(), metric.params,
                                  stream);
}

namespace {

DeviceMetric device_metric(const MetricSpec& spec, cudaStream_t stream) {
    DeviceMetric m;
    m.spec = spec;
    m.params = spec.params;
    m.params.matrix = nullptr;
    if (spec.id != MetricId::formula && spec.id != MetricId::functor) m.kernels = &metric_kernels(spec.id);
    if (spec.matrix) {
        const std::int64_t d = spec.params.d;
        std::vector<double> transposed(spec.matrix->size());
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = 0; j < d; ++j)
                transposed[static_cast<std::size_t>(j * d + i)] = (*spec.matrix)[static_cast<std::size_t>(i * d + j)];
        m.matrix = Buffer<double>(d * d, stream);
        check(cudaMemcpyAsync(m.matrix.get(), transposed.data(), transposed.size() * sizeof(double), cudaMemcpyDefault,
                              stream),
              "cudaMemcpy");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        m.params.matrix = m.matrix.get();
    }
    return m;
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
    points->device = plan.device;
    points->n = view.rows;
    points->d = view.cols;
    points->metric = device_metric(spec, stream);
    points->streams = plan.chunk_points < view.rows;
    points->source = view;
    if (points->streams) {
        if (own) points->source = copy_to_host(view, points->owned);
        return points;
    }
    Chunk& chunk = points->resident;
    chunk.points = upload(view, 0, view.rows, own, stream);
    measure(chunk.points, points->metric, stream);
    if (plan.path != "exact") prepare_filter(chunk, points->metric, plan.path, stream);
    check(cudaStreamSynchronize(stream), "preparing the points");
    return points;
}

MatrixView elements(const Points& p) {
    if (p.streams) return p.source;
    const Rows& r = p.resident.points.rows;
    const bool row_major = r.col_stride == 1;
    return {r.data,  p.n,
            p.d,     row_major ? r.row_stride : r.col_stride,
            r.type,  row_major ? Layout::row_major : Layout::column_major,
            p.device};
}

}  // namespace kith::gpu
