// A part of a graph in grids, on a GPU (triangle.h). A grid is GSIZE x GSIZE distances in device
// memory: phase 1 computes them, phase 2 pushes each row to the heap of its point, and each column
// to that of its own, by way of the transposed grid.
//
// grid (launch)  a block per row of distances
// block          its threads read the row side by side, so that reads are coalesced
// thread         keeps what is nearer than the root of the heap in a buffer of its own (Kato and
// Hosino, Fig. 8) heap           the k nearest so far of a row, the furthest at the root; in shared
// memory while a block has it, where
//                there is room. One thread pushes what the buffers hold while the others wait.
#include <algorithm>

#include "exact/order.h"
#include "gpu/metric/user.h"
#include "gpu/points/points.h"
#include "gpu/primitives/gather.h"
#include "gpu/primitives/sort_rows.h"
#include "gpu/primitives/transpose.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "papers/kato/deal.h"
#include "papers/kato/triangle.h"

namespace kith::gpu {

namespace {

constexpr std::uint64_t missing = exact::Order<double>::nan;
constexpr int push_threads = 128, buffer_size = 4, staged_room = push_threads * buffer_size;
// Entries of a heap that shared memory holds beside what is staged.
constexpr std::int64_t shared_heap = 3072;

// The k nearest so far, by (key, id).
struct Heap {
    std::uint64_t* keys;
    std::uint32_t* ids;
    int k;

    __device__ static bool after(std::uint64_t ka, std::uint32_t ia, std::uint64_t kb,
                                 std::uint32_t ib) {
        return ka != kb ? ka > kb : ia > ib;
    }
    __device__ bool takes(std::uint64_t key, std::uint32_t id) const {
        return key != missing && after(keys[0], ids[0], key, id);
    }
    // In the place of the root.
    __device__ void push(std::uint64_t key, std::uint32_t id) const {
        int at = 0;
        for (int child = 1; child < k; child = 2 * at + 1) {
            if (child + 1 < k && after(keys[child + 1], ids[child + 1], keys[child], ids[child]))
                ++child;
            if (!after(keys[child], ids[child], key, id)) break;
            keys[at] = keys[child];
            ids[at] = ids[child];
            at = child;
        }
        keys[at] = key;
        ids[at] = id;
    }
};

// Row i of `distances`, whose columns are the points from first_id on, to heap i.
__global__ void __launch_bounds__(push_threads)
    push_rows_kernel(const std::uint64_t* distances, std::int64_t ld, int columns,
                     std::uint32_t first_id, int k, std::uint64_t* heap_keys,
                     std::uint32_t* heap_ids, bool in_shared) {
    __shared__ std::uint64_t staged_keys[staged_room];
    __shared__ std::uint32_t staged_ids[staged_room];
    __shared__ int staged;
    extern __shared__ std::uint64_t heap_memory[];
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const std::uint64_t* const values = distances + row * ld;
    std::uint64_t* const own_keys = heap_keys + row * k;
    std::uint32_t* const own_ids = heap_ids + row * k;
    const Heap heap = in_shared
                          ? Heap{heap_memory, reinterpret_cast<std::uint32_t*>(heap_memory + k), k}
                          : Heap{own_keys, own_ids, k};
    const auto tid = static_cast<int>(threadIdx.x);
    for (int i = tid; in_shared && i < k; i += push_threads) {
        heap.keys[i] = own_keys[i];
        heap.ids[i] = own_ids[i];
    }
    if (tid == 0) staged = 0;
    __syncthreads();
    for (int first = 0; first < columns; first += staged_room) {
        std::uint64_t buffer_keys[buffer_size];
        std::uint32_t buffer_ids[buffer_size];
        int count = 0;
#pragma unroll
        for (int l = 0; l < buffer_size; ++l) {
            const int column = first + l * push_threads + tid;
            if (column >= columns) continue;
            const std::uint64_t key = values[column];
            const std::uint32_t id = first_id + static_cast<std::uint32_t>(column);
            if (!heap.takes(key, id)) continue;
            buffer_keys[count] = key;
            buffer_ids[count] = id;
            ++count;
        }
        if (__syncthreads_or(count) == 0) continue;
        const int at = count > 0 ? atomicAdd(&staged, count) : 0;
        for (int i = 0; i < count; ++i) {
            staged_keys[at + i] = buffer_keys[i];
            staged_ids[at + i] = buffer_ids[i];
        }
        __syncthreads();
        if (tid == 0) {
            for (int i = 0; i < staged; ++i)
                if (heap.takes(staged_keys[i], staged_ids[i]))
                    heap.push(staged_keys[i], staged_ids[i]);
            staged = 0;
        }
        __syncthreads();
    }
    for (int i = tid; in_shared && i < k; i += push_threads) {
        own_keys[i] = heap.keys[i];
        own_ids[i] = heap.ids[i];
    }
}

__global__ void fill_kernel(std::int32_t* out, std::int64_t count, std::int32_t value) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = value;
}

class Triangle {
public:
    Triangle(const Points& points, const TrianglePart& part)
        : points_(points),
          part_(part),
          stream_(static_cast<cudaStream_t>(part.stream)),
          n_(points.n),
          d_(points.d),
          rows_(part.grid * points.d, stream_),
          columns_(part.grid * points.d, stream_),
          distances_(part.grid * part.grid, stream_),
          turned_(part.grid * part.grid, stream_),
          self_(part.grid, stream_),
          keys_(points.n * part.k, stream_),
          ids_(points.n * part.k, stream_) {
        keys_.clear_to(0xff);
        ids_.clear_to(0xff);
    }

    // Writes to keys and ids while the device computes: pages that are new to the process take the
    // host longer than the copy does.
    void run(std::uint64_t* keys, std::uint32_t* ids) {
        const std::int64_t cells = n_ * part_.k;
        const std::int64_t grids = (n_ + part_.grid - 1) / part_.grid,
                           own = exact::dealt_rows(grids, part_.part, part_.parts);
        for (std::int64_t t = 0; t < own; ++t) {
            const std::int64_t y = exact::dealt_row(t, part_.part, part_.parts);
            convert(y, rows_.get());
            for (std::int64_t x = y; x < grids; ++x) {
                grid(x, y);
                part_.progress.add(static_cast<double>(count(x)) * static_cast<double>(count(y)) *
                                   (x == y ? 1 : 2));
            }
            const std::int64_t from = cells * t / own, to = cells * (t + 1) / own;
            std::fill(keys + from, keys + to, missing);
            std::fill(ids + from, ids + to, ~std::uint32_t{0});
            check(cudaStreamSynchronize(stream_), "grids of a graph");
            part_.progress.poll("search");
            part_.progress.throw_if_cancelled();
        }
    }
    // Sorted, to the host.
    void finish(std::uint64_t* keys, std::uint32_t* ids) {
        Buffer<std::int32_t> counts(n_, stream_);
        fill_kernel<<<item_blocks(n_), item_threads, 0, stream_>>>(
            counts.get(), n_, static_cast<std::int32_t>(part_.k));
        check_launch("fill");
        Buffer<std::uint64_t> sorted(n_ * part_.k, stream_);
        Buffer<std::uint32_t> sorted_ids(n_ * part_.k, stream_);
        sort_rows({keys_.get(), ids_.get(), counts.get(), 1, n_, part_.k, part_.k},
                  {sorted.get(), sorted_ids.get(), part_.k}, stream_);
        InFlight copies(stream_);
        const auto cells = static_cast<std::size_t>(n_ * part_.k);
        check(cudaMemcpyAsync(keys, sorted.get(), cells * sizeof *keys, cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        check(
            cudaMemcpyAsync(ids, sorted_ids.get(), cells * sizeof *ids, cudaMemcpyDefault, stream_),
            "cudaMemcpy");
        copies.wait("heaps of a graph");
    }

private:
    std::int64_t first(std::int64_t i) const { return i * part_.grid; }
    std::int64_t count(std::int64_t i) const { return std::min(part_.grid, n_ - first(i)); }
    PreparedRows prepared(std::int64_t i) const {
        return points_.resident.points.prepared(first(i), count(i));
    }
    void convert(std::int64_t i, double* to) {
        const DeviceMetric& metric = points_.metric;
        if (metric.kernels) metric.kernels->convert(prepared(i), to, metric.params, stream_);
        else user_convert(prepared(i).rows, to, d_, stream_);
    }
    // Distances of the points of y, as queries, with those of x.
    void scan(std::int64_t y, const double* queries, std::int64_t x, const double* columns,
              std::uint64_t* out) {
        const PreparedRows q = prepared(y), p = prepared(x);
        const ScanTile tile{queries, columns,   q.aux,    p.aux,    q.nan,
                            p.nan,   count(y),  count(x), first(x), x == y ? self_.get() : nullptr,
                            out,     part_.grid};
        const DeviceMetric& metric = points_.metric;
        if (metric.kernels) metric.kernels->scan(tile, metric.params, stream_);
        else user_scan(tile, metric.spec, stream_);
    }
    void push(std::int64_t y, std::int64_t x, const std::uint64_t* distances, std::int64_t ld) {
        const bool in_shared = part_.k <= shared_heap;
        const std::size_t bytes = in_shared ? static_cast<std::size_t>(part_.k) * 12 : 0;
        push_rows_kernel<<<static_cast<unsigned>(count(y)), push_threads, bytes, stream_>>>(
            distances, ld, static_cast<int>(count(x)), static_cast<std::uint32_t>(first(x)),
            static_cast<int>(part_.k), keys_.get() + first(y) * part_.k,
            ids_.get() + first(y) * part_.k, in_shared);
        check_launch("push_rows");
    }
    void grid(std::int64_t x, std::int64_t y) {
        if (x == y) {
            count_up(self_.get(), count(y), first(y), stream_);
            scan(y, rows_.get(), y, rows_.get(), distances_.get());
            push(y, y, distances_.get(), part_.grid);
            return;
        }
        convert(x, columns_.get());
        scan(y, rows_.get(), x, columns_.get(), distances_.get());
        push(y, x, distances_.get(), part_.grid);
        std::int64_t ld = part_.grid;
        if (part_.symmetric) {
            // Keys are moved as they are.
            transpose(reinterpret_cast<const double*>(distances_.get()), part_.grid, count(y),
                      count(x), reinterpret_cast<double*>(turned_.get()), stream_);
            ld = count(y);
        } else {
            scan(x, columns_.get(), y, rows_.get(), turned_.get());
        }
        push(x, y, turned_.get(), ld);
    }

    const Points& points_;
    const TrianglePart& part_;
    cudaStream_t stream_;
    std::int64_t n_, d_;
    Buffer<double> rows_, columns_;
    Buffer<std::uint64_t> distances_, turned_;
    Buffer<std::int64_t> self_;
    Buffer<std::uint64_t> keys_;
    Buffer<std::uint32_t> ids_;
};

}  // namespace

void triangle_part(const Points& points, const TrianglePart& part, std::uint64_t* keys,
                   std::uint32_t* ids) {
    const DeviceScope scope(points.device);
    if (points.streams)
        throw Error(ErrorCode::out_of_memory,
                    "memory: path kato holds all points and the heaps of all of them");
    const TrimAtEnd trim(points.device, static_cast<cudaStream_t>(part.stream));
    Triangle triangle(points, part);
    triangle.run(keys, ids);
    triangle.finish(keys, ids);
}

}  // namespace kith::gpu
