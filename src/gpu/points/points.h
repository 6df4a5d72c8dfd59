// Points on a device: the elements, and the values that a search needs once per point.
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include "formula/error_bound.h"
#include "gpu/backend.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/metric/prepared_rows.h"
#include "gpu/points/history.h"
#include "gpu/points/late/late_forms.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/memory/registered_memory.h"
#include "gpu/runtime/upload.h"
#include "gpu/tree/tree.h"
#include "machine/large_memory.h"

namespace kith::gpu {

// Rows that kernels read, with auxiliary values and NaN flags.
struct DeviceRows {
    Rows rows;
    Buffer<char> elements;  // empty if the rows are the caller's or in host memory
    Buffer<double> aux;     // empty if the metric has none
    Buffer<std::uint8_t> nan;
    PreparedRows prepared() const { return {rows, aux.get(), nan.get()}; }
    RowMeasures measures() const { return {aux.get(), nan.get()}; }
    // Rows [first, first + count).
    PreparedRows prepared(std::int64_t first, std::int64_t count) const {
        return slice(prepared(), first, count);
    }
};

// Bytes of the vectors of `rows` rows.
inline std::int64_t vector_bytes(const FilterForm& form, std::int64_t rows) {
    if (form.is_direct()) return whole_tiles(rows) * form.width * 4;
    return rows * form.width * 2;
}

// The filter's data of points, by position (see FilterForm::stride).
struct FilterVectors {
    FilterForm form;
    formula::Range range{};         // of a formula: the range that its bound covers
    Buffer<double> centre, values;  // owned; `form` points to them
    Buffer<char> vectors;           // see vector_bytes
    Buffer<float> half_norm;        // initial values of the accumulators
    Buffer<float> point_error;      // the point's share of the error bound
    Buffer<std::uint32_t> order;    // owned; `form` points to it if the points are permuted
};

struct Clusters;          // clusters.h
struct ProjectedVectors;  // projection.h

// Points that a search handles at once: all of them, or one streamed chunk.
struct Chunk {
    std::int64_t first = 0;
    DeviceRows points;
    FilterVectors filter;
    bool by_tree = false;         // the path is the tree, or boxes pay: `filter` has not been made
    bool likely_repeats = false;  // a sample says that many rows are equal
    // The projection of `filter`; null if the plan has none, or if a sample says that it does not
    // pay.
    std::shared_ptr<const ProjectedVectors> projected;
    std::shared_ptr<const Clusters> clusters;  // likewise, for path `clustered`
    std::shared_ptr<LateForms> late = std::make_shared<LateForms>();
};

// The metric, with its constants on the device.
struct DeviceMetric {
    MetricSpec spec;
    metric::Params params;  // .constants are on the device, a matrix transposed
    Buffer<double> constants;
    Buffer<double>
        factors;  // owned; `factor` points to them if the metric has a factor and is filtered
    FactorForm factor;
    const MetricKernels* kernels = nullptr;  // null: a user's metric
};

inline metric::Traits traits_of(const DeviceMetric& metric) {
    return metric.kernels ? metric.kernels->traits : metric::Traits{};
}

class Points {
public:
    explicit Points(int on, cudaStream_t stream) : trim(on, stream), device(on) {}

    TrimAtEnd trim;  // destroyed last
    int device;
    std::int64_t n = 0, d = 0;
    DeviceMetric metric;
    MatrixView
        source;  // points that stream or stay on the host; or the caller's or own device memory
    machine::LargeMemory owned;  // own copy of points in host memory
    DeviceRows owned_on_device;  // own copy of points in device memory that do not fit one chunk
    RegisteredMemory
        registered;  // registration of `source` if it stays on the host (Plan::host_points)
    Chunk resident;  // all points if they fit, or everything except the elements
    // on_host: kernels read `source`. If both are true, `resident` has int8 vectors
    // (listed_vectors.h), and the points stream for queries that these leave without an answer.
    bool streams = false, on_host = false;
    // The path that they were prepared for; whether a sample was asked about boxes, and whether it
    // says that boxes pay: then there is a tree.
    Path prepared_for = Path::exact;
    bool tried_boxes = false, boxes_pay = false;
    mutable History history;
};

// One call's use of points: what was known about them when it began, and a hold on their forms.
class PointsUse {
public:
    explicit PointsUse(const Points& points)
        : points_(points),
          hold_(points.resident.late->in_use),
          before_(points.history.read()),
          learned(before_),
          late_before(points.resident.late->bytes()) {}
    ~PointsUse() { points_.history.add(before_, learned); }
    PointsUse(const PointsUse&) = delete;
    PointsUse& operator=(const PointsUse&) = delete;

private:
    const Points& points_;
    std::shared_lock<std::shared_mutex> hold_;
    const Learned before_;

public:
    Learned learned;
    const std::int64_t late_before;
};

// Uploads rows [first, first + count) of a view. Rows that are on the device already are not copied
// unless `copy`.
DeviceRows upload(const MatrixView& view, std::int64_t first, std::int64_t count, bool copy,
                  cudaStream_t stream, const CopyWatch& watch = {});
// Allocates auxiliary values and NaN flags; measure() also computes them.
void reserve_measures(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream);
void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream);
// A product in one or two fp16 terms, or the metric itself: in its coarse form if that serves, else
// as `direct`.
enum class FilterKind { one_term, two_terms, direct_coarse, direct };
// The kind of a plan's path; distance kernels take f32 words.
inline FilterKind kind_of(const Plan& plan) {
    if (!plan.distances.empty()) return FilterKind::direct;
    return plan.path == Path::direct_f32 ? FilterKind::direct_coarse : FilterKind::one_term;
}
// The matrix instructions of a plan.
inline FilterIsa isa_of(const Plan& plan) {
    return plan.isa == "sm_90a" ? FilterIsa::sm_90a : FilterIsa::sm_80;
}
inline bool is_coarse(const FilterForm& form) {
    return form.is_direct() && exact::is_coarse(form.direct);
}
// The filter of a kind: the chunk's own, or made at the first call. Thread-safe.
const FilterVectors& filter_of(const Chunk& chunk, const DeviceMetric& metric, FilterKind kind);
// For permuted points: the one-term filter in which every run of positions is a sample. Made at the
// first call; thread-safe.
const FilterVectors& spread_filter(const Chunk& chunk, const DeviceMetric& metric);
// The int8 bias columns of the chunk's projection; `terms` is not no_terms. Empty if their reach is
// too small; null if there is no memory for them now. Made at the first call; thread-safe.
const ByteTermRows* terms_of(const Chunk& chunk, int terms);
// The chunk's tree, for a monotone metric. prepare() makes it if the plan's path is the tree or
// boxes pay, otherwise the first call does. Thread-safe.
const Tree& tree_of(const Chunk& chunk, const DeviceMetric& metric);
// repeats_of: the chunk's duplicate rows (repeats), counted at the first call. known_repeats: null
// unless they have been counted and are many. Both are thread-safe.
const Repeats& repeats_of(const Chunk& chunk, std::int64_t d);
const Repeats* known_repeats(const Chunk& chunk);
// Like known_repeats(), after counting if that takes at most `room` bytes and the device has them.
const Repeats* counted_repeats(const Chunk& chunk, std::int64_t d, double room);

}  // namespace kith::gpu
