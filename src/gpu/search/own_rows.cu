// Distances of points to themselves by the kernel that rescores candidates, and the rows around
// them.
#include "gpu/search/own_rows.h"

#include <algorithm>

#include "gpu/metric/user.h"
#include "gpu/points/points.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/with_room.h"
#include "gpu/search/deliver.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

__global__ void each_itself_kernel(std::uint32_t first, std::int64_t count, std::uint32_t* ids,
                                   std::int32_t* counts) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    ids[i] = first + static_cast<std::uint32_t>(i);
    counts[i] = 1;
}

// Rows of n x k cells: of a point without a NaN `own`, then its others; else the others alone.
template <class T, class Own>
__global__ void put_kernel(const T* others, const std::uint8_t* nan, std::int64_t n, std::int64_t k,
                           Own own, T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= n * k) return;
    const std::int64_t row = cell / k, place = cell % k, stride = k > 1 ? k - 1 : 1;
    out[cell] = place > 0  ? others[row * stride + place - 1]
                : nan[row] ? others[row * stride]
                           : own(row);
}

struct OwnId {
    __device__ std::int64_t operator()(std::int64_t row) const { return row; }
};
template <class T>
struct OwnDistance {
    const T* distances;
    __device__ T operator()(std::int64_t row) const { return distances[row]; }
};

template <class T, class Own>
void put_cells(const T* others, const std::uint8_t* nan, std::int64_t n, std::int64_t k, Own own,
               T* out, cudaStream_t stream) {
    put_kernel<<<item_blocks(n * k), item_threads, 0, stream>>>(others, nan, n, k, own, out);
    check_launch("rows of points");
}

}  // namespace

struct OwnRows::Work {
    Work(std::shared_ptr<const Points> of, std::int64_t length, bool wide, bool with_distances,
         cudaStream_t on)
        : points(std::move(of)),
          n(points->n),
          k(length),
          f64(wide),
          stream(on),
          ids(n * std::max<std::int64_t>(1, k - 1), stream),
          distances(with_distances ? ids.size() * element() : 0, stream) {}

    std::int64_t element() const { return f64 ? 8 : 4; }

    // The distances of all points to themselves, as reported; a range of points at a time.
    Buffer<char> own_distances() const {
        constexpr std::int64_t most = std::int64_t{1} << 20;
        const DeviceMetric& metric = points->metric;
        const std::int64_t range = std::min(n, most);
        Buffer<char> own(n * element(), stream);
        Buffer<std::uint64_t> keys(range, stream);
        Buffer<std::uint32_t> itself(range, stream);
        Buffer<std::int32_t> counts(range, stream);
        for (std::int64_t first = 0; first < n; first += range) {
            const std::int64_t count = std::min(range, n - first);
            each_itself_kernel<<<item_blocks(count), item_threads, 0, stream>>>(
                static_cast<std::uint32_t>(first), count, itself.get(), counts.get());
            check_launch("points themselves");
            const RefineTask task{points->resident.points.prepared(first, count),
                                  points->resident.points.prepared(),
                                  itself.get(),
                                  counts.get(),
                                  1,
                                  1,
                                  keys.get()};
            if (metric.kernels) metric.kernels->refine(task, metric.params, stream);
            else user_refine(task, metric.spec, stream);
            report_distances(metric, keys.get(), f64, own.get() + first * element(), count, stream);
        }
        return own;
    }

    // All rows into memory of the device.
    void put(const NeighborsView& out) const {
        const std::uint8_t* const nan = points->resident.points.nan.get();
        put_cells(ids.get(), nan, n, k, OwnId{}, out.ids, stream);
        if (!out.distances) return;
        const Buffer<char> own = own_distances();
        const auto put_as = [&]<class T>(T* to) {
            put_cells(reinterpret_cast<const T*>(distances.get()), nan, n, k,
                      OwnDistance<T>{reinterpret_cast<const T*>(own.get())}, to, stream);
        };
        if (f64) put_as(static_cast<double*>(out.distances));
        else put_as(static_cast<float*>(out.distances));
    }

    std::shared_ptr<const Points> points;
    std::int64_t n, k;
    bool f64;
    cudaStream_t stream;
    Buffer<std::int64_t> ids;  // of the others
    Buffer<char> distances;
};

std::unique_ptr<OwnRows> OwnRows::make(const std::shared_ptr<const Points>& points, std::int64_t k,
                                       bool f64, bool distances, void* stream) {
    const std::int64_t cell = 8 + (distances ? (f64 ? 8 : 4) : 0);
    const bool rescores = points->metric.kernels || points->metric.spec.formula;
    if (!rescores || points->streams || points->on_host || points->n == 0 ||
        2 * points->n * k * cell > tuning::own_rows_bytes)
        return nullptr;
    const DeviceScope scope(points->device);
    std::unique_ptr<Work> work;
    const bool has_room = with_room([&] {
        work = std::make_unique<Work>(points, k, f64, distances, static_cast<cudaStream_t>(stream));
    });
    if (!has_room) return nullptr;
    return std::unique_ptr<OwnRows>(new OwnRows(std::move(work)));
}

OwnRows::OwnRows(std::unique_ptr<Work> work) : work_(std::move(work)) {}

OwnRows::~OwnRows() {
    const DeviceScope scope(work_->points->device);
    work_.reset();
}

NeighborsView OwnRows::others() const {
    return {work_->ids.get(), work_->distances.get(), work_->points->device};
}

void OwnRows::put(const NeighborsView& out) {
    const Work& work = *work_;
    const DeviceScope scope(work.points->device);
    InFlight writing(work.stream);
    if (out.device == work.points->device) {
        work.put(out);
        writing.wait("rows of points");
        return;
    }
    const std::int64_t cells = work.n * work.k;
    const Buffer<std::int64_t> ids(cells, work.stream);
    const Buffer<char> distances(out.distances ? cells * work.element() : 0, work.stream);
    work.put({ids.get(), distances.get(), work.points->device});
    const auto copy = [&](void* to, const void* from, std::int64_t bytes) {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                              work.stream),
              "copy of the rows");
    };
    copy(out.ids, ids.get(), cells * 8);
    if (out.distances) copy(out.distances, distances.get(), cells * work.element());
    writing.wait("rows of points");
}

}  // namespace kith::gpu
