// A part of a graph in grids with phase 1 in f32 (Kato and Hosino 2009, Fig. 7: kato_distances).
// Each distance goes to the candidate heaps of both points, which hold some more than k. A heap is
// a list that lacks no value below its root: it is closed as those of composed paths are
// (docs/proofs/direct.md, lemma 3), and its candidates are rescored. The part's pairs of points
// without a certificate are scanned in binary64.
//
// open_kernel, complete_kernel    a block per point, its threads side by side over the heap
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/points/sample.h"
#include "gpu/primitives/gather.h"
#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/primitives/transpose.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/with_room.h"
#include "papers/distance/distance.h"
#include "papers/kato/heaps.cuh"
#include "papers/kato/part_rows.h"

namespace kith::gpu {

namespace {

constexpr int list_threads = 128;

// Heaps, capacity entries each, as lists. found: their lengths.
__global__ void __launch_bounds__(list_threads)
    open_kernel(const std::uint32_t* keys, const std::uint32_t* ids, CandidateLists lists,
                std::int32_t* found) {
    using Order = exact::Order<float>;
    __shared__ int kept;
    if (threadIdx.x == 0) kept = 0;
    __syncthreads();
    const std::int64_t query = blockIdx.x, cell = query * lists.capacity;
    for (std::int64_t i = threadIdx.x; i < lists.capacity; i += blockDim.x) {
        const std::uint32_t key = keys[cell + i];
        if (key == Order::nan) continue;
        lists.candidates[cell + atomicAdd(&kept, 1)] = {Order::value(key), ids[cell + i]};
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    const float infinity = __int_as_float(0x7f800000);
    lists.counts[query] = found[query] = kept;
    lists.overflowed[query] = 0;
    // Values that a full heap lacks are at least its root's.
    lists.threshold[query] =
        kept < lists.capacity ? infinity : nextafterf(Order::value(keys[cell]), -infinity);
}

// A heap that is not full has all of the part's neighbours of its point: each is a candidate.
__global__ void __launch_bounds__(list_threads)
    complete_kernel(CandidateLists lists, const std::int32_t* found, CloseTask task) {
    const std::int64_t query = blockIdx.x, cell = query * lists.capacity;
    const std::int32_t count = found[query];
    if (count == lists.capacity || task.status[query] == certified) return;
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
        task.ids[cell + i] = lists.candidates[cell + i].point;
    __syncthreads();
    if (threadIdx.x > 0) return;
    lists.counts[query] = count;
    task.status[query] = certified;
}

__global__ void fill_counts_kernel(std::int32_t* out, std::int64_t count, std::int32_t value) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = value;
}

class FilteredPart {
public:
    FilteredPart(const Points& points, const TrianglePart& part, const exact::DirectForm& form,
                 std::int64_t capacity)
        : points_(points),
          part_(part),
          stream_(static_cast<cudaStream_t>(part.stream)),
          grids_{points.n, std::min(part.grid, points.n)},
          capacity_(capacity),
          words_(std::in_place, points, form, grids_, stream_),
          values_(grids_.side * grids_.side, stream_),
          turned_(grids_.side * grids_.side, stream_),
          heap_keys_(points.n * capacity, stream_),
          heap_ids_(points.n * capacity, stream_) {
        heap_keys_.clear_to(0xff);
        heap_ids_.clear_to(0xff);
    }

    // Phases 1 and 2.
    void run(const PartHeaps& out) {
        each_grid(
            part_, grids_, out, [](std::int64_t) {},
            [&](std::int64_t x, std::int64_t y) { grid(x, y); });
        values_ = {};
        turned_ = {};
    }
    // Rescores the certified points, and returns the others.
    std::vector<std::int64_t> close() {
        keys_ = Buffer<std::uint64_t>(grids_.n * part_.k, stream_);
        ids_ = Buffer<std::uint32_t>(grids_.n * part_.k, stream_);
        const Buffer<std::uint8_t> status(grids_.n, stream_);
        for (std::int64_t i = 0; i < grids_.count(); ++i)
            close(grids_.first(i), grids_.points(i), status.get());
        const std::vector<std::uint8_t> found = fetched(status, stream_);
        words_.reset();
        heap_keys_ = {};
        heap_ids_ = {};
        std::vector<std::int64_t> left;
        for (std::int64_t i = 0; i < grids_.n; ++i)
            if (found[static_cast<std::size_t>(i)] != certified) left.push_back(i);
        return left;
    }
    // Scans the part's pairs of these points, in order.
    void scan(const std::vector<std::int64_t>& left) {
        for (auto from = left.begin(); from != left.end();) {
            const std::int64_t grid = *from / grids_.side;
            const auto to = std::find_if(from, left.end(),
                                         [&](std::int64_t i) { return i / grids_.side != grid; });
            scan(grid, {from, to});
            from = to;
            part_.progress.poll("search");
            part_.progress.throw_if_cancelled();
        }
    }
    void finish(const PartHeaps& out) const {
        copy_heaps(keys_.get(), ids_.get(), grids_.n * part_.k, out, stream_);
    }

private:
    void push(std::int64_t y, std::int64_t x, const float* values) {
        const std::int64_t first = grids_.first(y);
        const heaps::ValueRows rows{values, grids_.points(x), words_->norm() + grids_.first(x),
                                    x == y};
        heaps::push_rows(rows, grids_.points(y), grids_.points(x), grids_.first(x),
                         {heap_keys_.get() + first * capacity_, heap_ids_.get() + first * capacity_,
                          static_cast<int>(capacity_)},
                         stream_);
    }
    void grid(std::int64_t x, std::int64_t y) {
        const FilterForm& form = words_->form();
        kato_distances({.step = form.direct.step,
                        .exponent = form.direct.exponent,
                        .queries = words_->words(y),
                        .points = words_->words(x),
                        .half_norm = words_->job_norm(x),
                        .query_size = words_->sizes(y),
                        .width = form.width,
                        .q = grids_.points(y),
                        .n = grids_.points(x),
                        .values = values_.get(),
                        .stream = stream_});
        push(y, x, values_.get());
        if (x == y) return;
        transpose(values_.get(), grids_.points(x), grids_.points(y), grids_.points(x),
                  turned_.get(), stream_);
        push(x, y, turned_.get());
    }

    void close(std::int64_t first, std::int64_t q, std::uint8_t* status) {
        const std::int64_t cells = q * capacity_;
        const DeviceRows& points = points_.resident.points;
        const Buffer<Candidate> candidates(cells, stream_);
        const Buffer<std::uint32_t> ids(cells, stream_);
        const Buffer<std::int32_t> counts(q, stream_), found(q, stream_);
        const Buffer<float> threshold(q, stream_);
        const Buffer<std::uint8_t> overflowed(q, stream_);
        Buffer<unsigned long long> totals(2, stream_);
        totals.clear_to(0);
        const FilterForm& form = words_->form();
        const CandidateLists lists{
            .q = q,
            .capacity = capacity_,
            .candidates = candidates.get(),
            .counts = counts.get(),
            .threshold = threshold.get(),
            .overflowed = overflowed.get(),
            .query_error = words_->query_error() + first,
            .point_error = words_->point_error(),
            .growth = points.rows.type == ElementType::f64 ? form.rounded_growth : form.growth};
        const CloseTask task{.k = part_.k,
                             .n = grids_.n,
                             .unfit = words_->unfit() + first,
                             .nan = points.nan.get(),
                             .ids = ids.get(),
                             .status = status + first,
                             .totals = totals.get()};
        const auto blocks = static_cast<unsigned>(q);
        open_kernel<<<blocks, list_threads, 0, stream_>>>(heap_keys_.get() + first * capacity_,
                                                          heap_ids_.get() + first * capacity_,
                                                          lists, found.get());
        check_launch("open_lists");
        close_lists(lists, form, task, stream_);
        complete_kernel<<<blocks, list_threads, 0, stream_>>>(lists, found.get(), task);
        check_launch("complete_lists");
        // The candidates' memory: these have become ids.
        auto* const keys = reinterpret_cast<std::uint64_t*>(candidates.get());
        points_.metric.kernels->refine({points.prepared(first, q), points.prepared(), ids.get(),
                                        counts.get(), capacity_, part_.k, keys},
                                       points_.metric.params, stream_);
        sort_rows({keys, ids.get(), counts.get(), 1, q, capacity_, capacity_},
                  {keys_.get() + first * part_.k, ids_.get() + first * part_.k, part_.k}, stream_);
    }

    // Points of a grid with all others that the part pairs them with.
    void scan(std::int64_t grid, const std::vector<std::int64_t>& which) {
        const auto q = static_cast<std::int64_t>(which.size());
        const std::int64_t d = points_.d, k = part_.k;
        const DeviceRows& points = points_.resident.points;
        const Buffer<std::int64_t> index(q, stream_);
        InFlight reading(stream_);
        check(cudaMemcpyAsync(index.get(), which.data(), which.size() * sizeof which.front(),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        DeviceRows rows;
        rows.elements =
            Buffer<char>(q * d * static_cast<std::int64_t>(size_of(points.rows.type)), stream_);
        gather_rows(points.rows, index.get(), q, d, rows.elements.get(), stream_);
        rows.rows = {rows.elements.get(), q, d, 1, points.rows.type};
        measure(rows, points_.metric, stream_);
        const Buffer<double> queries(q * d, stream_), columns(grids_.side * d, stream_);
        const Buffer<std::uint64_t> distances(q * grids_.side, stream_);
        Buffer<std::uint64_t> keys(q * k, stream_);
        Buffer<std::uint32_t> ids(q * k, stream_);
        keys.clear_to(0xff);
        ids.clear_to(0xff);
        to_scan_order(points_.metric, rows.prepared(), d, queries.get(), stream_);
        for (std::int64_t x = 0; x < grids_.count(); ++x) {
            if (!exact::is_dealt(std::min(grid, x), part_.part, part_.parts)) continue;
            const PreparedRows p = points.prepared(grids_.first(x), grids_.points(x));
            to_scan_order(points_.metric, p, d, columns.get(), stream_);
            scan_grid(
                points_.metric,
                {queries.get(), columns.get(), rows.aux.get(), p.aux, rows.nan.get(), p.nan, q,
                 grids_.points(x), grids_.first(x), index.get(), distances.get(), grids_.side},
                stream_);
            heaps::push_rows(heaps::KeyRows{distances.get(), grids_.side}, q, grids_.points(x),
                             grids_.first(x), {keys.get(), ids.get(), static_cast<int>(k)},
                             stream_);
        }
        const Buffer<std::int32_t> counts(q, stream_);
        fill_counts_kernel<<<item_blocks(q), item_threads, 0, stream_>>>(
            counts.get(), q, static_cast<std::int32_t>(k));
        check_launch("fill_counts");
        const Buffer<std::uint64_t> sorted(q * k, stream_);
        const Buffer<std::uint32_t> sorted_ids(q * k, stream_);
        sort_rows({keys.get(), ids.get(), counts.get(), 1, q, k, k},
                  {sorted.get(), sorted_ids.get(), k}, stream_);
        scatter_dense(sorted.get(), index.get(), q, k * 8, keys_.get(), stream_);
        scatter_dense(sorted_ids.get(), index.get(), q, k * 4, ids_.get(), stream_);
        reading.wait("points of a grid");
    }

    const Points& points_;
    const TrianglePart& part_;
    cudaStream_t stream_;
    Grids grids_;
    std::int64_t capacity_;
    std::optional<GridWords> words_;
    Buffer<float> values_, turned_;
    Buffer<std::uint32_t> heap_keys_, heap_ids_;
    // The k nearest of each point, sorted.
    Buffer<std::uint64_t> keys_;
    Buffer<std::uint32_t> ids_;
};

// If more than a quarter of the points have no certificate, grids in binary64 take less.
constexpr std::int64_t most_left_part = 4;

}  // namespace

bool filtered_part(const Points& points, const TrianglePart& part, const PartHeaps& out) {
    const std::int64_t n = points.n, capacity = listed_points(n, part.k, max_candidates);
    // Both sides of a pair share its value.
    if (!part.symmetric || capacity < std::min(n, part.k + 1)) return false;
    const auto form = grid_form(points.metric, points.resident.points.rows.type);
    std::optional<FilteredPart> filtered;
    if (!form || !with_room([&] { filtered.emplace(points, part, *form, capacity); })) return false;
    const double before = part.progress.done();
    filtered->run(out);
    const std::vector<std::int64_t> left = filtered->close();
    if (static_cast<std::int64_t>(left.size()) > n / most_left_part) {
        part.progress.add(before - part.progress.done());
        return false;
    }
    filtered->scan(left);
    filtered->finish(out);
    std::fill_n(out.scanned, n, std::uint8_t{0});
    for (const std::int64_t i : left) out.scanned[i] = 1;
    return true;
}

}  // namespace kith::gpu
