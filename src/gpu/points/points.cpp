// Uploads points to the device and prepares them; see points.h.
#include "gpu/points/points.h"

#include "exact/bounds/box_trial.h"
#include "exact/linear/factor.h"
#include "exact/report/watched.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/filter/tuning.h"
#include "gpu/metric/user.h"
#include "gpu/points/listed_vectors.h"
#include "gpu/points/partition/clusters.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/repeats.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/upload.h"
#include "gpu/runtime/with_room.h"
#include "gpu/tree/order.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace kith::gpu {

DeviceRows upload(const MatrixView& v, std::int64_t first, std::int64_t count, bool copy,
                  cudaStream_t stream, const CopyWatch& watch) {
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
    const char* const from =
        static_cast<const char*>(v.data) + (row_major ? first * v.stride : first) * element;
    copy_to_device(out.elements.get(), {from, lines, length * element, v.stride * element}, stream,
                   watch);
    out.rows = {out.elements.get(), count, row_major ? v.cols : 1, row_major ? 1 : count, v.type};
    return out;
}

void reserve_measures(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream) {
    const bool has_aux = metric.kernels && metric.kernels->aux > 0;
    rows.aux = Buffer<double>(has_aux ? rows.rows.count * metric::max_aux : 0, stream);
    rows.nan = Buffer<std::uint8_t>(rows.rows.count, stream);
}

void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream) {
    reserve_measures(rows, metric, stream);
    if (metric.kernels) metric.kernels->measure(rows.rows, rows.measures(), metric.params, stream);
    else user_measure(rows.rows, rows.nan.get(), metric.params.d, stream);
}

namespace {

constexpr const char* stage = "prepare";

// The host's part of preparing: its threads, and the progress that they poll.
struct Host {
    int threads;
    ProgressMeter& progress;
};

void to_device(Buffer<double>& to, const std::vector<double>& from, cudaStream_t stream,
               const Host& host) {
    const auto bytes = static_cast<std::int64_t>(from.size() * sizeof(double));
    InFlight reading(stream);
    copy_to_device(to.get(), {reinterpret_cast<const char*>(from.data()), 1, bytes, bytes}, stream,
                   {nullptr, &host.progress, stage, host.threads});
    reading.wait("copy of the metric's constants");
}

// Adds the factor of the metric's matrix, for the filter.
void add_factor(DeviceMetric& m, cudaStream_t stream, const Host& host) {
    const std::int64_t d = m.params.d;
    const exact::Factor factor =
        exact::factorise(*m.spec.constants, d, host.threads, host.progress);
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
std::vector<double> transposed(const std::vector<double>& matrix, std::int64_t d,
                               const Host& host) {
    std::vector<double> out(matrix.size());
    watched_for(host.threads, d, 16, host.progress, stage,
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = 0; i < d; ++i)
                        for (std::int64_t j = first; j < last; ++j)
                            out[static_cast<std::size_t>(j * d + i)] =
                                matrix[static_cast<std::size_t>(i * d + j)];
                });
    host.progress.throw_if_cancelled();
    return out;
}

DeviceMetric device_metric(const MetricSpec& spec, bool filter, cudaStream_t stream,
                           const Host& host) {
    DeviceMetric m;
    m.spec = spec;
    m.params = spec.params;
    m.params.constants = nullptr;
    if (!is_user_metric(spec.id)) m.kernels = &metric_kernels(spec.id);
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
MatrixView copy_to_host(const MatrixView& v, machine::LargeMemory& storage, const Host& host) {
    constexpr std::int64_t piece = 4 << 20;
    const auto element = static_cast<std::int64_t>(size_of(v.type));
    const bool row_major = v.layout == Layout::row_major;
    const std::int64_t lines = row_major ? v.rows : v.cols, length = row_major ? v.cols : v.rows;
    storage = machine::make_large_memory(lines * length * element);
    const Runs runs{static_cast<const char*>(v.data), lines, length * element, v.stride * element};
    watched_for(host.threads, lines * length * element, piece, host.progress, stage,
                [&](std::int64_t first, std::int64_t last) {
                    gather(runs, first, last - first,
                           reinterpret_cast<char*>(storage.get()) + first);
                });
    host.progress.throw_if_cancelled();
    MatrixView out = v;
    out.data = storage.get();
    out.stride = length;
    return out;
}

// Registers a matrix in host memory, so that kernels can read it.
RegisteredMemory registered(const MatrixView& v, const Host& host) {
    const bool row_major = v.layout == Layout::row_major;
    const std::int64_t lines = row_major ? v.rows : v.cols, length = row_major ? v.cols : v.rows;
    host.progress.poll(stage);
    host.progress.throw_if_cancelled();
    return {v.data, ((lines - 1) * v.stride + length) * static_cast<std::int64_t>(size_of(v.type))};
}

// A tree compares points in binary64. Measured for points that differ far more in one column than
// in the others. A tree is faster than filters, unless the spread of that column is moderate and
// the dimensions are many.
constexpr exact::BoxLimits box_limits{.sampled_rows = 1024, .most_in_boxes = 1.0 / 128};

bool sample_says_boxes(const DeviceRows& points, const DeviceMetric& metric, cudaStream_t stream) {
    const exact::BoxTrial trial{.traits = metric.kernels->traits,
                                .d = metric.params.d,
                                .n = points.rows.count,
                                .leaf = leaf_points,
                                .axes = most_split_axes};
    return exact::boxes_pay(trial, box_limits, [&](std::int64_t rows) {
        return sample_of(points, *metric.kernels, FilterForm{}, rows, metric.params, stream);
    });
}

// A sample is asked for duplicate rows if there are at least repeats_points points, with at most
// repeats_dimensions coordinates. It finds them if an average row has twice as many equals as are
// worth leaving out.
constexpr std::int64_t repeats_points = 1 << 16, repeats_dimensions = 16, repeats_sample = 256;

bool sample_says_repeats(const DeviceRows& points, const DeviceMetric& metric,
                         cudaStream_t stream) {
    const std::int64_t d = metric.params.d;
    const auto n = static_cast<double>(points.rows.count);
    if (!metric.kernels || points.rows.count < repeats_points || d > repeats_dimensions)
        return false;
    const std::vector<double> rows =
        sample_of(points, *metric.kernels, FilterForm{}, repeats_sample, metric.params, stream);
    std::vector<const double*> sorted;
    for (std::int64_t s = 0; s < repeats_sample; ++s) sorted.push_back(rows.data() + s * d);
    std::ranges::sort(sorted, [&](const double* a, const double* b) {
        return std::memcmp(a, b, static_cast<std::size_t>(d) * sizeof(double)) < 0;
    });
    double pairs = 0, run = 0;
    for (std::size_t s = 1; s < sorted.size(); ++s) {
        run = std::equal(sorted[s], sorted[s] + d, sorted[s - 1]) ? run + 1 : 0;
        pairs += run;
    }
    constexpr double all_pairs = repeats_sample * (repeats_sample - 1) / 2.0;
    return n * pairs / all_pairs >= 2 * tuning::many_repeats;
}

// Restores the order in which every run of positions is a sample.
void forget_order(Chunk& chunk, const DeviceMetric& metric, cudaStream_t stream) {
    if (!chunk.filter.form.order) return;
    chunk.filter.form.order = nullptr;
    chunk.filter.order = {};
    fill_filter(chunk.points, metric, chunk.filter, stream);
}

// Without memory for a projection, the filter uses all coordinates.
void add_projection(Chunk& chunk, const DeviceMetric& metric, const Plan& plan,
                    cudaStream_t stream) {
    const bool directions = plan.path == Path::projected;
    const bool wgmma = isa_of(plan) == FilterIsa::sm_90a;
    ProjectionChoices choices{.directions = directions,
                              .byte_directions = directions && wgmma,
                              .bytes = wgmma && !(directions && plan.forced),
                              .always = plan.forced};
    // Rows that are read over the bus keep their own order.
    if (plan.host_points == HostPoints::none)
        choices.reorder = [&](Buffer<std::uint32_t> order) {
            chunk.filter.order = std::move(order);
            chunk.filter.form.order = chunk.filter.order.get();
            fill_filter(chunk.points, metric, chunk.filter, stream);
        };
    const bool has_room = with_room([&] {
        auto found = find_projection(chunk.filter, chunk.points.rows.count, choices, stream);
        if (found) chunk.projected = std::make_shared<const ProjectedVectors>(std::move(*found));
    });
    if (!has_room) forget_order(chunk, metric, stream);
}

// Without memory for clusters, the filter has none.
void add_clusters(Chunk& chunk, const DeviceMetric& metric, const Plan& plan, cudaStream_t stream) {
    const bool has_room = with_room([&] {
        auto found =
            find_clusters(chunk.points, metric, chunk.filter, isa_of(plan), plan.forced, stream);
        if (found) chunk.clusters = std::make_shared<const Clusters>(std::move(*found));
    });
    if (!has_room) forget_order(chunk, metric, stream);
}

// Makes the filter of the plan's path, with clusters or a projection if they pay.
void add_filter(Chunk& chunk, const DeviceMetric& metric, const Plan& plan, cudaStream_t stream) {
    chunk.filter = prepare_filter(chunk.points, metric, kind_of(plan), stream);
    if (plan.path == Path::clustered) add_clusters(chunk, metric, plan, stream);
    const bool clusters = plan.path == Path::clustered && (plan.forced || chunk.clusters);
    if (tuning::may_project(plan.path) && !clusters) add_projection(chunk, metric, plan, stream);
}

// If no int8 form serves the points, they just stream.
void add_bytes(Points& points, const Host& host, cudaStream_t stream) {
    const auto poll = [&] {
        host.progress.poll(stage);
        host.progress.throw_if_cancelled();
    };
    points.registered = registered(points.source, host);
    Chunk& chunk = points.resident;
    chunk.points.rows = rows_of(points.source);
    measure(chunk.points, points.metric, stream);
    if (prepare_bytes(points.source, chunk, points.metric, stream, poll)) return;
    // Kernels may still read the registered memory.
    check(cudaStreamSynchronize(stream), "preparing the points");
    chunk = Chunk{};
    points.registered = {};
}

}  // namespace

std::shared_ptr<const Points> prepare(const MatrixView& view, const MetricSpec& spec,
                                      const Plan& plan, bool copy, void* caller_stream, int threads,
                                      ProgressMeter& progress) {
    const DeviceScope scope(plan.device);
    const Host host{threads, progress};
    const CopyWatch watch{nullptr, &progress, stage, threads};
    auto* stream = static_cast<cudaStream_t>(caller_stream);
    if (copy) {
        // Memory that outlives the call must not be tied to a stream that may not.
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        stream = nullptr;
    }
    auto points = std::make_shared<Points>(plan.device, stream);
    CallMemory call(plan.device, stream);
    points->n = view.rows;
    points->d = view.cols;
    points->prepared_for = plan.path;
    points->metric = device_metric(spec, tuning::takes_products(plan.path), stream, host);
    points->streams = plan.chunk_points < view.rows;
    points->on_host = plan.host_points != HostPoints::none;
    points->source = view;
    if (copy && view.device == host_memory && (points->streams || points->on_host))
        points->source = copy_to_host(view, points->owned, host);
    if (points->streams) {
        if (copy && view.device != host_memory) {
            points->owned_on_device = upload(view, 0, view.rows, true, stream, watch);
            points->source = view_of(points->owned_on_device.rows, view.cols, plan.device);
        }
        if (plan.host_points == HostPoints::bytes) add_bytes(*points, host, stream);
        call.wait("preparing the points");
        return points;
    }
    Chunk& chunk = points->resident;
    if (points->on_host) {
        points->registered = registered(points->source, host);
        chunk.points.rows = rows_of(points->source);
    } else {
        chunk.points = upload(view, 0, view.rows, copy, stream, watch);
    }
    measure(chunk.points, points->metric, stream);
    points->tried_boxes = plan.tries_tree;
    points->boxes_pay = plan.tries_tree && sample_says_boxes(chunk.points, points->metric, stream);
    chunk.by_tree = plan.path == Path::tree || points->boxes_pay;
    if (chunk.by_tree)
        chunk.late->tree.put(make_tree(chunk.points.prepared(), *points->metric.kernels,
                                       points->metric.params, stream));
    else if (plan.path != Path::exact) add_filter(chunk, points->metric, plan, stream);
    chunk.likely_repeats = plan.path != Path::exact && !chunk.by_tree && !points->on_host &&
                           plan.query_tile >= counting_queries &&
                           sample_says_repeats(chunk.points, points->metric, stream);
    progress.poll(stage);
    progress.throw_if_cancelled();
    call.wait("preparing the points");
    return points;
}

bool has_projection(const Points& points) {
    return !points.streams && points.resident.projected;
}

bool has_bytes_alone(const Points& points) {
    return points.streams && points.resident.projected;
}

bool has_clusters(const Points& points) {
    return points.resident.clusters != nullptr;
}

bool boxes_pay(const Points& points) {
    return points.boxes_pay;
}

bool has_tree(const Points& points) {
    return points.resident.late->tree.known() != nullptr;
}

MatrixView elements(const Points& p) {
    if (p.streams || p.on_host) return p.source;
    return view_of(p.resident.points.rows, p.d, p.device);
}

}  // namespace kith::gpu
