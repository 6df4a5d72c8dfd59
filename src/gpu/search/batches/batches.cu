// Many small searches in one launch (batches.h).
//
// A block owns 128 queries of one batch, a thread one of them, with its k nearest. The batch's
// points go through shared memory in tiles of f32, coordinate by coordinate. Four points at a time
// are compared in f32 with the query's threshold. Candidates wait in a column of shared memory.
// When a lane of the warp has no room for four more, all lanes empty their columns: they compute
// the canonical distances in binary64 from the same tile, and place them in the lists.
//
// A value in f32 is a sum of d terms that are not negative, each of a difference: within a factor 1
// + (d + 3) 2^-24 of the true sum, but for 2^-149 a step where that is denormal. The threshold is
// the k-th distance so far, widened by more than that and rounded upwards: a point above it has
// more than k points before it.
//
// In more than 32 dimensions the queries are in shared memory, too, coordinate by coordinate.
#include "gpu/search/batches/batches.h"

#include <algorithm>
#include <type_traits>

#include "exact/canonical.h"
#include "gpu/metric/rank.cuh"
#include "gpu/points/points.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/memory/shared_memory.h"
#include "gpu/search/batches/batches_list.cuh"
#include "metric/cityblock.h"
#include "metric/euclidean.h"
#include "metric/sqeuclidean.h"

namespace kith::gpu {

namespace {

constexpr int threads = static_cast<int>(tuning::batches_queries);
// The points that may wait per query, and the points that come at a time. NVIDIA H200, 2026-11-23,
// 32 batches of 4,096 points and queries, d 3, k 16, milliseconds of the kernel. Uniform points:
// slots 8 0.83, 12 0.76, 20 0.75, 28 0.75; step 8 with 24 slots 0.74. Points in order of x: 1.97,
// 1.71, 1.56, 1.56; 1.60. Blocks of 64 and 256 threads are within 2 %. With few enough registers
// for seven or eight blocks per multiprocessor instead of six: 0.79, 0.83.
constexpr int slots = 20, step = 4;
static_assert(step % 4 == 0 && slots > step);

struct DeviceBatch {
    std::int64_t first_point, first_query, first_block, queries;
    std::int32_t points;
};
static_assert(sizeof(DeviceBatch) <= tuning::batch_bytes);

// Batches that are arguments of the kernel: a table in device memory is allocated, copied and given
// back.
constexpr int few_batches = 64;

struct Task {
    Rows points, queries;
    DeviceBatch few[few_batches];
    const DeviceBatch* many;   // or null: they are in `few`
    int count;                 // number of batches, each with queries
    std::int64_t first_block;  // the launch's first block among all blocks
    int d, k;
    std::int64_t* ids;
    void* distances;  // or null
    bool f64;
    bool roots;  // euclidean: distances are the roots of the keys, which are squares
};

// Like ScalarOps but for the sign of a NaN: the abs() of ScalarOps costs two comparisons.
struct FastOps : ScalarOps<float> {
    __device__ static float abs(float a) { return fabsf(a); }
};

// The batch of a block: the last that begins at it or before.
__device__ DeviceBatch batch_of(const DeviceBatch* batches, int count, std::int64_t block) {
    int low = 0, high = count;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (batches[middle].first_block <= block) low = middle;
        else high = middle;
    }
    return batches[low];
}

// An upper bound of the f32 value of any point among the k nearest, if `key` is the k-th key so
// far.
template <int D>
__device__ float threshold_of(std::uint64_t key) {
    if (key == exact::Order<double>::nan) return __int_as_float(0x7f800000);
    constexpr double relative = 1.0 + (D + 8) * 0x1p-23, absolute = 0x1p-140;
    return __double2float_ru(exact::Order<double>::value(key) * relative + absolute);
}

__device__ void put(const Task& task, std::int64_t cell, std::int64_t id, double distance) {
    task.ids[cell] = id;
    if (!task.distances) return;
    if (task.f64) static_cast<double*>(task.distances)[cell] = distance;
    else static_cast<float*>(task.distances)[cell] = static_cast<float>(distance);
}

__device__ float element(const Rows& rows, std::int64_t row, int col) {
    const std::int64_t at = row * rows.row_stride + col * rows.col_stride;
    if (rows.type == ElementType::f32) return static_cast<const float*>(rows.data)[at];
    return static_cast<float>(exact::load(rows.data, rows.type, at));
}

// The coordinates of the threads' queries, of which each reads its own: in registers, or in
// `shared`.
template <int D>
struct OwnQuery {
    static constexpr bool in_registers = D <= tuning::batches_register_dimensions;
    float values[in_registers ? D : 1];
    float* shared;

    __device__ float get(int i) const {
        if constexpr (in_registers) return values[i];
        else return shared[i * threads + threadIdx.x];
    }
    __device__ void set(int i, float value) {
        if constexpr (in_registers) values[i] = value;
        else shared[i * threads + threadIdx.x] = value;
    }
};
template <int D>
constexpr int tile_points = D <= 4 ? 1024 : 4096 / D;
template <int D>
constexpr int shared_bytes = OwnQuery<D>::in_registers ? 0 : (threads + tile_points<D>)*D * 4;

// D: room for coordinates. Coordinates from task.d on are 0 on both sides, so that their terms are
// 0. Dynamic shared memory: shared_bytes<D>.
template <class M, int D, int K>
__global__ void __launch_bounds__(threads)
    batches_kernel(const __grid_constant__ Task task, metric::Params params) {
    constexpr int tile_points = gpu::tile_points<D>;
    constexpr int terms = D < exact::partials ? D : exact::partials;
    constexpr int ahead = OwnQuery<D>::in_registers ? D : 8;  // coordinates of unrolled loops
    constexpr unsigned all = 0xffffffffu;
    // Up to 32 dimensions the tile has a size that is known here.
    constexpr int fixed_floats = OwnQuery<D>::in_registers ? D * tile_points : 1;
    __shared__ __align__(16) float fixed[fixed_floats];
    extern __shared__ __align__(16) float dynamic[];
    float* const memory = OwnQuery<D>::in_registers ? fixed : dynamic;
    auto& tile = *reinterpret_cast<float(*)[D][tile_points]>(memory);
    __shared__ std::uint16_t column[slots][threads];
    const std::int64_t block = task.first_block + blockIdx.x;
    const DeviceBatch batch = batch_of(task.many ? task.many : task.few, task.count, block);
    const std::int64_t query = (block - batch.first_block) * threads + threadIdx.x;
    const bool has_query = query < batch.queries;
    const bool warp_works = __any_sync(all, has_query);
    const float infinity = __int_as_float(0x7f800000);
    OwnQuery<D> q;
    q.shared = memory + D * tile_points;
    bool idle = !has_query;
#pragma unroll ahead
    for (int i = 0; i < D; ++i) {
        const float own =
            has_query && i < task.d ? element(task.queries, batch.first_query + query, i) : 0.0f;
        q.set(i, own);
        idle |= own != own;
    }
    // No query, or one with a NaN: only points with a NaN pass, and they have no key.
#pragma unroll ahead
    for (int i = 0; i < D; ++i) q.set(i, idle ? 0.0f : q.get(i));
    float threshold = idle ? -infinity : infinity;
    BatchesList<K> list(task.k);
    int waiting = 0;
    for (int first = 0; first < batch.points; first += tile_points) {
        const int count = min(tile_points, batch.points - first),
                  padded = (count + step - 1) / step * step;
        __syncthreads();
        for (int p = static_cast<int>(threadIdx.x); p < padded; p += threads) {
#pragma unroll ahead
            for (int i = 0; i < D; ++i) {
                const bool there = p < count && i < task.d;
                tile[i][p] = there ? element(task.points, batch.first_point + first + p, i)
                                   : (p < count ? 0.0f : infinity);
            }
        }
        __syncthreads();
        if (!warp_works) continue;
        const auto settle = [&] {
            const int most = __reduce_max_sync(all, waiting);
#pragma unroll 1
            for (int w = 0; w < most; ++w) {
                if (w >= waiting) continue;
                const int p = column[w][threadIdx.x];
                bool eligible = p < count && !idle;
                double a[terms][1] = {};
#pragma unroll 1
                for (int first_term = 0; first_term < D; first_term += terms)
#pragma unroll
                    for (int j = 0; j < terms; ++j) {
                        const float x = tile[first_term + j][p];
                        eligible &= x == x;
                        M::template step<ScalarOps<double>>(
                            a[j], static_cast<double>(q.get(first_term + j)),
                            static_cast<double>(x), params);
                    }
                    // The canonical tree without its joins with zeros, which change nothing.
#pragma unroll
                for (int half = exact::partials / 2; half > 0; half /= 2)
#pragma unroll
                    for (int j = 0; j < half; ++j)
                        if (j + half < terms)
                            M::template combine<ScalarOps<double>>(a[j], a[j + half]);
                const std::uint64_t key = rank_key(
                    exact::ordered_rank(M::finish(a[0], nullptr, nullptr, params)), eligible);
                if (key < list.last()) list.insert(key, static_cast<std::uint32_t>(first + p));
            }
            waiting = 0;
            if (!idle) threshold = threshold_of<D>(list.last());
        };
#pragma unroll 1
        for (int p = 0; p < padded; p += step) {
            float s[step][1] = {};
#pragma unroll ahead
            for (int i = 0; i < D; ++i) {
                const float own = q.get(i);
#pragma unroll
                for (int j = 0; j < step; j += 4) {
                    const float4 x = *reinterpret_cast<const float4*>(&tile[i][p + j]);
                    M::template step<FastOps>(s[j], own, x.x, params);
                    M::template step<FastOps>(s[j + 1], own, x.y, params);
                    M::template step<FastOps>(s[j + 2], own, x.z, params);
                    M::template step<FastOps>(s[j + 3], own, x.w, params);
                }
            }
            // NaN, of infinite coordinates, passes.
            bool any = false;
#pragma unroll
            for (int j = 0; j < step; ++j) any |= !(s[j][0] > threshold);
            if (any) {
#pragma unroll
                for (int j = 0; j < step; ++j)
                    if (!(s[j][0] > threshold))
                        column[waiting++][threadIdx.x] = static_cast<std::uint16_t>(p + j);
            }
            // At the end of the tile all lanes take out their waiting points, before the tile goes.
            if (p + step >= padded || __any_sync(all, waiting > slots - step)) settle();
        }
    }
    if (!has_query) return;
    const std::int64_t row = (batch.first_query + query) * task.k;
    const double inf = bits_to_double(0x7ff0000000000000ULL);
    list.each(task.k, [&](int place, std::uint64_t key, std::uint32_t id) {
        const bool there = key != exact::Order<double>::nan;
        double distance = M::report(there ? exact::Order<double>::value(key) : inf, params);
        if constexpr (std::is_same_v<M, metric::Euclidean::Keys>)
            if (task.roots) distance = metric::Euclidean::report(distance, params);
        put(task, row + place, there ? static_cast<std::int64_t>(id) : -1, distance);
    });
}

// Queries outside of all batches.
__global__ void missing_kernel(const __grid_constant__ Task task, std::int64_t cells) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < cells) put(task, cell, -1, bits_to_double(0x7ff0000000000000ULL));
}

using Launch = void (*)(const Task&, const metric::Params&, unsigned blocks, cudaStream_t);

template <class M, int D, int K>
void launch(const Task& task, const metric::Params& params, unsigned blocks, cudaStream_t stream) {
    constexpr int bytes = shared_bytes<D>;
    if constexpr (!OwnQuery<D>::in_registers) allow_shared_memory(batches_kernel<M, D, K>);
    batches_kernel<M, D, K><<<blocks, threads, bytes, stream>>>(task, params);
    check_launch("batches");
}

template <class M, int D>
Launch of_list(int k) {
    if constexpr (!OwnQuery<D>::in_registers)
        return k <= 32 ? launch<M, D, 32> : launch<M, D, tuning::batches_max_k>;
    else
        return k <= 16 ? launch<M, D, 16>
                       : (k <= 32 ? launch<M, D, 32> : launch<M, D, tuning::batches_max_k>);
}

template <class M>
Launch of_metric(int d, int k) {
    if (d <= 3) return of_list<M, 3>(k);
    if (d <= 4) return of_list<M, 4>(k);
    if (d <= 8) return of_list<M, 8>(k);
    if (d <= 16) return of_list<M, 16>(k);
    if (d <= 32) return of_list<M, 32>(k);
    return d <= 64 ? of_list<M, 64>(k) : of_list<M, tuning::batches_max_dimensions>(k);
}

// The metrics of tuning::batches_metrics.
Launch kernel_for(MetricId metric, int d, int k) {
    if (metric == MetricId::cityblock) return of_metric<metric::Cityblock>(d, k);
    return of_metric<metric::SqEuclidean>(d, k);
}

}  // namespace

void search_batches(const BatchesRequest& request) {
    const DeviceScope scope(request.device);
    const auto stream = static_cast<cudaStream_t>(request.stream);
    std::vector<DeviceBatch> table;
    std::int64_t blocks = 0, covered = 0, most_points = 1;
    double pairs = 0;
    for (const Batch& b : request.batches) {
        if (b.queries == 0) continue;
        table.push_back(
            {b.first_point, b.first_query, blocks, b.queries, static_cast<std::int32_t>(b.points)});
        blocks += blocks_for(b.queries, threads);
        covered += b.queries;
        most_points = std::max(most_points, b.points);
        pairs += static_cast<double>(b.points) * static_cast<double>(b.queries);
    }
    const std::int64_t q = request.queries.rows, cells = q * request.k,
                       element = request.f64 ? 8 : 4;
    const bool direct = request.out.device == request.device;
    const auto ask = [&] {
        request.progress.poll("search");
        request.progress.throw_if_cancelled();
    };
    ask();
    CallMemory call(request.device, stream);
    const DeviceRows points = upload(request.points, 0, request.points.rows, false, stream);
    const DeviceRows queries = upload(request.queries, 0, q, false, stream);
    const bool few = table.size() <= few_batches;
    const Buffer<DeviceBatch> batches(few ? 0 : std::ssize(table), stream);
    const Buffer<std::int64_t> ids(direct ? 0 : cells, stream);
    const Buffer<char> distances(direct || !request.out.distances ? 0 : cells * element, stream);
    Task task{.points = points.rows,
              .queries = queries.rows,
              .few = {},
              .many = batches.get(),
              .count = static_cast<int>(table.size()),
              .first_block = 0,
              .d = static_cast<int>(request.points.cols),
              .k = static_cast<int>(request.k),
              .ids = direct ? request.out.ids : ids.get(),
              .distances = direct ? request.out.distances : distances.get(),
              .f64 = request.f64,
              .roots = request.metric.id == MetricId::euclidean};
    if (few) std::copy(table.begin(), table.end(), task.few);
    if (covered < q) {
        missing_kernel<<<item_blocks(cells), item_threads, 0, stream>>>(task, cells);
        check_launch("missing");
    }
    if (blocks > 0) {
        if (!few)
            check(cudaMemcpyAsync(batches.get(), table.data(), table.size() * sizeof(DeviceBatch),
                                  cudaMemcpyDefault, stream),
                  "table of batches");
        const Launch launch = kernel_for(request.metric.id, task.d, task.k);
        const std::int64_t step = tuning::batches_step(most_points);
        for (; task.first_block < blocks; task.first_block += step) {
            if (task.first_block > 0) {
                check(cudaStreamSynchronize(stream), "batches");
                request.progress.add(pairs * static_cast<double>(step) /
                                     static_cast<double>(blocks));
                ask();
            }
            launch(task, request.metric.params,
                   static_cast<unsigned>(std::min(step, blocks - task.first_block)), stream);
        }
    }
    if (!direct) {
        const auto copy = [&](void* to, const void* from, std::int64_t bytes) {
            check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                                  stream),
                  "copy of the result");
        };
        copy(request.out.ids, ids.get(), cells * 8);
        if (request.out.distances) copy(request.out.distances, distances.get(), cells * element);
    }
    call.wait("batches");
    request.progress.add(pairs - request.progress.done());
    ask();
}

}  // namespace kith::gpu
