// Points on a device: the elements and what a search needs of each point once.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "exact/projection_record.h"
#include "formula/error_bound.h"
#include "gpu/backend.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/metric/prepared_rows.h"
#include "gpu/points/pilots.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/registered_memory.h"
#include "gpu/runtime/upload.h"
#include "gpu/tree/tree.h"
#include "machine/large_memory.h"

namespace kith::gpu {

// Rows that kernels read, with auxiliary values and NaN flags.
struct DeviceRows {
    Rows rows;
    Buffer<char> elements;  // empty where the rows are the caller's, or lie on the host
    Buffer<double> aux;     // empty where the metric has none
    Buffer<std::uint8_t> nan;
    PreparedRows prepared() const { return {rows, aux.get(), nan.get()}; }
    RowMeasures measures() const { return {aux.get(), nan.get()}; }
    // Of `count` rows from `first` on.
    PreparedRows prepared(std::int64_t first, std::int64_t count) const {
        return slice(prepared(), first, count);
    }
};

// What the vectors of so many rows take.
inline std::int64_t vector_bytes(const FilterForm& form, std::int64_t rows) {
    if (form.is_direct()) return whole_tiles(rows) * form.width * 4;
    return rows * form.width * 2;
}

// What the filter knows of points, by position (see FilterForm::stride).
struct FilterVectors {
    FilterForm form;
    formula::Range range{};         // of a formula: what its bound covers
    Buffer<double> centre, values;  // what `form` points into
    Buffer<char> vectors;           // see vector_bytes
    Buffer<float> half_norm;        // what the accumulators are initialised to
    Buffer<float> point_error;      // the point's share of the error bound
    Buffer<std::uint32_t> order;    // what `form` points into, where its points come in clusters
};

struct Clusters;          // clusters.h
struct Repeats;           // repeats.h
struct ProjectedVectors;  // projection.h
struct ByteTermRows;      // the same

// Points that a search handles at once: all of them, or a chunk that streams.
struct Chunk {
    std::int64_t first = 0;
    DeviceRows points;
    FilterVectors filter;
    bool by_tree = false;  // the plan's path is the tree: `filter` has not been made
    // Of `filter`; null where the plan has no projection, or a sample says that it would not pay.
    std::shared_ptr<const ProjectedVectors> projected;
    std::shared_ptr<const Clusters> clusters;  // the same of the path `clustered`
    // Other filters, and which rows are equal: made at the first queries that want them, or that
    // `filter` leaves without a certificate.
    struct Finer {
        std::mutex mutex;
        std::unique_ptr<FilterVectors> one_term, two_terms, direct_coarse, direct;
        std::unique_ptr<const Tree> tree;
        std::shared_ptr<const Repeats> repeats;
        std::atomic<bool> coarse_misleads{false};  // a tile of queries has found its own too coarse
        std::atomic<std::int64_t> needless{
            0};  // candidates of all searches beyond what neighbours need
        // How queries have fared with the projection, by passes and as values of very few queries,
        // and with one cluster alone; left: those without a certificate.
        struct Record {
            exact::ProjectionRecord queries;
            // Where it does not pay, one tile in so many tries again: other queries may come.
            static constexpr std::int64_t tried_again = 16;
            std::atomic<std::int64_t> passed_over{0};
            // Whether the next tile tries, which counts as its turn.
            bool take_turn() { return queries.pays() || ++passed_over % tried_again == 0; }
        } by_passes, as_values, by_clusters;
        Pilots pilots;
        // Terms of bytes whose reach pilots have found to be enough: the projection's own, or of
        // more planes, 1 << terms of them, or none.
        enum Terms { own_terms, two_planes, four_planes, no_terms };
        std::atomic<int> terms{own_terms};
        std::array<std::shared_ptr<const ByteTermRows>, no_terms> wider;
    };
    std::shared_ptr<Finer> finer = std::make_shared<Finer>();
};

// The metric with its constants on the device.
struct DeviceMetric {
    MetricSpec spec;
    metric::Params params;  // .constants on the device, a matrix transposed
    Buffer<double> constants;
    Buffer<double> factors;  // what `factor` points into, where the metric has one and is filtered
    FactorForm factor;
    const MetricKernels* kernels = nullptr;  // null: a user's metric
};

inline metric::Traits traits_of(const DeviceMetric& metric) {
    return metric.kernels ? metric.kernels->traits : metric::Traits{};
}

class Points {
public:
    explicit Points(int on, cudaStream_t stream) : trim(on, stream), device(on) {}

    TrimAtEnd trim;  // the last to go
    int device;
    std::int64_t n = 0, d = 0;
    DeviceMetric metric;
    MatrixView source;  // what streams or stays on the host, or the caller's or own device memory
    machine::LargeMemory owned;   // copies of points on the host,
    DeviceRows owned_on_device;   // and of more points on a device than a chunk may have
    RegisteredMemory registered;  // `source`, where it stays on the host (Plan::host_points)
    Chunk resident;               // where everything fits, or all but the elements
    // on_host: kernels read `source`. Points of which both is true stream where their bytes
    // (listed_vectors.h), which `resident` has then, leave queries without an answer.
    bool streams = false, on_host = false;
    bool boxes_pay = false;  // a sample says so: there is a tree
};

// Rows [first, first + count) of a view to the device; rows that lie there already are not copied
// unless `copy`.
DeviceRows upload(const MatrixView& view, std::int64_t first, std::int64_t count, bool copy,
                  cudaStream_t stream, const CopyWatch& watch = {});
// Room for their auxiliary values and NaN flags; these.
void reserve_measures(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream);
void measure(DeviceRows& rows, const DeviceMetric& metric, cudaStream_t stream);
// A product in one or two terms of fp16, or the metric itself: in its coarse form where that
// serves, else as `direct`.
enum class FilterKind { one_term, two_terms, direct_coarse, direct };
// That of a plan's path; distance kernels take words of f32.
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
// Those of a kind, the chunk's own or made at the first call; safe from several threads.
const FilterVectors& filter_of(const Chunk& chunk, const DeviceMetric& metric, FilterKind kind);
// Of points in clusters, that of one term in which every run of positions is a sample; made
// likewise.
const FilterVectors& spread_filter(const Chunk& chunk, const DeviceMetric& metric);
// Terms of its projection in bytes, not none; empty where they hold too little, or there is no
// memory for them. Likewise.
const ByteTermRows& terms_of(const Chunk& chunk, int terms);
// Its tree, of a monotone metric: made by prepare() where the plan's path is that, else at the
// first call. Safe from several threads.
const Tree& tree_of(const Chunk& chunk, const DeviceMetric& metric);
// Its equal rows, counted at the first call; and if they have been, and many are equal, else null.
// Safe from several threads.
const Repeats& repeats_of(const Chunk& chunk, std::int64_t d);
const Repeats* known_repeats(const Chunk& chunk);
// The latter, after counting where that takes no more than `room` bytes, and the device has them.
const Repeats* counted_repeats(const Chunk& chunk, std::int64_t d, double room);

}  // namespace kith::gpu
