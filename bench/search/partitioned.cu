// The partitioned search of partitioned.h.
//
// squared_norms: a warp owns rows its grid's warps apart. fill_tile: blocks_a_row blocks own a row of the tile. In
// stream s lie the subcorpora s, s + streams, ...; subcorpus i lies in buffer i mod 3, and is copied there once the
// product of i - 3 is over.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <chrono>
#include <limits>
#include <string>

#include "cuda_timing.h"
#include "device_memory.h"
#include "gpu/runtime/handles.h"
#include "gpu/select/selector.h"
#include "search/partitioned.h"

namespace kith::bench {

namespace {

constexpr int threads = 256, lanes = 32, norm_blocks = 1024;
constexpr unsigned blocks_a_row = 64;
constexpr int resident = 3;  // subcorpora on the device

// Squared norms of points, on the way to |x|^2 - 2 <q, x>, which orders as the distance.
__global__ void __launch_bounds__(threads)
    squared_norms(const float* points, std::int64_t rows, std::int64_t d, float* to) {
    const int lane = threadIdx.x % lanes;
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (threads / lanes);
    std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (threads / lanes) + threadIdx.x / lanes;
    for (; row < rows; row += warps) {
        float sum = 0;
        for (std::int64_t i = lane; i < d; i += lanes) sum += points[row * d + i] * points[row * d + i];
        for (int apart = lanes / 2; apart; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
        if (lane == 0) to[row] = sum;
    }
}

// A row of the tile: the norms, to which the product is added, then the k values found before.
__global__ void __launch_bounds__(threads) fill_tile(const float* norms, std::int64_t rows, const float* before,
                                                     std::int64_t k, float* tile, std::int64_t stride) {
    float* const row = tile + blockIdx.x * stride;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * threads + threadIdx.x;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * threads;
    for (std::int64_t i = first; i < rows; i += step) row[i] = norms[i];
    for (std::int64_t i = first; i < k; i += step) row[rows + i] = before[blockIdx.x * k + i];
}

// Columns of the tile to ids of the corpus.
__global__ void __launch_bounds__(threads) resolve(const std::int64_t* columns, std::int64_t rows, std::int64_t first,
                                                   const std::int64_t* before, std::int64_t k, std::int64_t* ids) {
    for (std::int64_t i = threadIdx.x; i < k; i += threads) {
        const std::int64_t column = columns[blockIdx.x * k + i];
        ids[blockIdx.x * k + i] = column < rows ? first + column : before[blockIdx.x * k + column - rows];
    }
}

// The lists of all streams side by side.
__global__ void __launch_bounds__(threads) gather_lists(const float* values, const std::int64_t* ids, std::int64_t k,
                                                        std::int64_t stride, float* to, std::int64_t* to_ids) {
    for (std::int64_t i = threadIdx.x; i < k; i += threads) {
        to[blockIdx.x * stride + i] = values[blockIdx.x * k + i];
        to_ids[blockIdx.x * stride + i] = ids[blockIdx.x * k + i];
    }
}

void check_product(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(ErrorCode::device, std::string("cuBLAS: ") + cublasGetStatusString(status));
}

template <class T>
class Array {
public:
    Array() = default;
    Array(int device, std::int64_t count) : data_(device_array(device, static_cast<std::size_t>(count) * sizeof(T))) {}
    T* get() const { return static_cast<T*>(data_.get()); }

private:
    std::shared_ptr<void> data_;
};

// The k best of each query so far, twice: as they were and as they become.
struct Lists {
    Array<float> values[2];
    Array<std::int64_t> ids[2];
    int now = 0;

    Lists(int device, std::int64_t cells) {
        for (int i = 0; i < 2; ++i) {
            values[i] = {device, cells};
            ids[i] = {device, cells};
        }
    }
};

struct StreamWork {
    gpu::Stream stream = gpu::make_stream();
    cublasHandle_t product = nullptr;
    Array<float> norms, tile;
    Array<std::int64_t> columns;
    Lists lists;

    explicit StreamWork(const Partition& p)
        : norms(p.device, p.rows),
          tile(p.device, p.q * (p.rows + p.k)),
          columns(p.device, p.q * p.k),
          lists(p.device, p.q * p.k) {
        check_product(cublasCreate(&product));
        check_product(cublasSetStream(product, stream.get()));
    }
    ~StreamWork() { cublasDestroy(product); }
    StreamWork(const StreamWork&) = delete;
    StreamWork& operator=(const StreamWork&) = delete;
};

}  // namespace

struct PartitionedSearch::State {
    Partition p;
    const float* points;
    const float* queries;
    std::vector<std::unique_ptr<StreamWork>> works;
    Array<float> corpus[resident];
    gpu::Event read[resident];  // after the last product that reads the buffer
    std::vector<gpu::Event> ends;
    Array<float> all;
    Array<std::int64_t> all_ids, columns;
    Array<float> found_values;

    State(const Partition& partition, int streams, const float* from, const float* of)
        : p(partition), points(from), queries(of) {
        check(cudaSetDevice(p.device), "cudaSetDevice");
        for (int i = 0; i < resident; ++i) {
            corpus[i] = {p.device, p.rows * p.d};
            read[i] = gpu::make_event();
        }
        for (int s = 0; s < streams; ++s) {
            works.push_back(std::make_unique<StreamWork>(p));
            ends.push_back(gpu::make_event());
        }
        all = {p.device, p.q * p.k * streams};
        all_ids = {p.device, p.q * p.k * streams};
        columns = {p.device, p.q * p.k};
        found_values = {p.device, p.q * p.k};
    }

    void select(const float* values, std::int64_t n, std::int64_t* to, float* to_values, cudaStream_t stream) const {
        gpu::SelectJob job;
        job.values = values;
        job.rows = p.q;
        job.n = job.stride = n;
        job.k = p.k;
        job.ids = to;
        job.out = to_values;
        job.stream = stream;
        gpu::truncated_bitonic(job, 0);
    }

    void search(StreamWork& work, const float* subcorpus, std::int64_t first, cudaEvent_t was_read) const {
        cudaStream_t const stream = work.stream.get();
        const auto q = static_cast<unsigned>(p.q);
        Lists& lists = work.lists;
        const int now = lists.now, next = 1 - now;
        const std::int64_t width = p.rows + p.k;
        squared_norms<<<norm_blocks, threads, 0, stream>>>(subcorpus, p.rows, p.d, work.norms.get());
        fill_tile<<<dim3(q, blocks_a_row), threads, 0, stream>>>(work.norms.get(), p.rows, lists.values[now].get(), p.k,
                                                                 work.tile.get(), width);
        check(cudaGetLastError(), "fill_tile");
        const float minus_two = -2, one = 1;
        const int rows = static_cast<int>(p.rows), d = static_cast<int>(p.d);
        check_product(cublasSgemm(work.product, CUBLAS_OP_T, CUBLAS_OP_N, rows, static_cast<int>(p.q), d, &minus_two,
                                  subcorpus, d, queries, d, &one, work.tile.get(), static_cast<int>(width)));
        check(cudaEventRecord(was_read, stream), "cudaEventRecord");
        select(work.tile.get(), width, work.columns.get(), lists.values[next].get(), stream);
        resolve<<<q, threads, 0, stream>>>(work.columns.get(), p.rows, first, lists.ids[now].get(), p.k,
                                           lists.ids[next].get());
        check(cudaGetLastError(), "resolve");
        lists.now = next;
    }

    void reset(StreamWork& work) const {
        const std::vector<float> nothing(static_cast<std::size_t>(p.q * p.k), std::numeric_limits<float>::infinity());
        const std::size_t bytes = nothing.size() * sizeof(float);
        check(cudaMemcpy(work.lists.values[work.lists.now].get(), nothing.data(), bytes, cudaMemcpyDefault),
              "cudaMemcpy");
    }

    // The lists of the streams into one, on the first of them.
    void merge() const {
        cudaStream_t const stream = works[0]->stream.get();
        const auto count = static_cast<std::int64_t>(works.size()), width = count * p.k;
        for (std::size_t s = 0; s < works.size(); ++s) {
            const StreamWork& work = *works[s];
            check(cudaEventRecord(ends[s].get(), work.stream.get()), "cudaEventRecord");
            check(cudaStreamWaitEvent(stream, ends[s].get()), "cudaStreamWaitEvent");
            const auto at = static_cast<std::int64_t>(s) * p.k;
            gather_lists<<<static_cast<unsigned>(p.q), threads, 0, stream>>>(work.lists.values[work.lists.now].get(),
                                                                             work.lists.ids[work.lists.now].get(), p.k,
                                                                             width, all.get() + at, all_ids.get() + at);
        }
        check(cudaGetLastError(), "gather_lists");
        select(all.get(), width, columns.get(), found_values.get(), stream);
    }

    void pass(Pass what) const {
        const std::int64_t subcorpora = p.n / p.rows;
        for (std::int64_t i = 0; i < subcorpora; ++i) {
            StreamWork& work = *works[static_cast<std::size_t>(i) % works.size()];
            const auto buffer = static_cast<std::size_t>(i % resident);
            if (what != Pass::kernels) {
                check(cudaStreamWaitEvent(work.stream.get(), read[buffer].get()), "cudaStreamWaitEvent");
                check(cudaMemcpyAsync(corpus[buffer].get(), points + i * p.rows * p.d,
                                      static_cast<std::size_t>(p.rows * p.d) * sizeof(float), cudaMemcpyHostToDevice,
                                      work.stream.get()),
                      "cudaMemcpyAsync");
            }
            if (what == Pass::copies) check(cudaEventRecord(read[buffer].get(), work.stream.get()), "cudaEventRecord");
            else search(work, corpus[buffer].get(), i * p.rows, read[buffer].get());
        }
        if (what != Pass::copies) merge();
    }
};

PartitionedSearch::PartitionedSearch(const Partition& partition, int streams, const float* points, const float* queries)
    : state_(std::make_unique<State>(partition, streams, points, queries)) {}

PartitionedSearch::~PartitionedSearch() = default;

double PartitionedSearch::run(Pass pass) {
    const State& s = *state_;
    for (const auto& work : s.works) s.reset(*work);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto start = std::chrono::steady_clock::now();
    s.pass(pass);
    check(cudaDeviceSynchronize(), "a pass over the corpus");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::int64_t> PartitionedSearch::ids() const {
    const State& s = *state_;
    const auto cells = static_cast<std::size_t>(s.p.q * s.p.k);
    const std::size_t width = s.works.size() * static_cast<std::size_t>(s.p.k);
    std::vector<std::int64_t> columns(cells), lists(static_cast<std::size_t>(s.p.q) * width), found(cells);
    check(cudaMemcpy(columns.data(), s.columns.get(), cells * sizeof(std::int64_t), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaMemcpy(lists.data(), s.all_ids.get(), lists.size() * sizeof(std::int64_t), cudaMemcpyDefault),
          "cudaMemcpy");
    for (std::size_t i = 0; i < cells; ++i)
        found[i] = lists[i / static_cast<std::size_t>(s.p.k) * width + static_cast<std::size_t>(columns[i])];
    return found;
}

std::shared_ptr<void> pinned_array(std::size_t bytes) {
    void* data = nullptr;
    check(cudaHostAlloc(&data, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    return {data, [](void* p) { cudaFreeHost(p); }};
}

}  // namespace kith::bench
