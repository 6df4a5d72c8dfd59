// "sampled" for rows that one block selects from: sample, scan, sort in one kernel.
//
//   grid    one block per row, several per multiprocessor, so that one block's sorting hides behind the others' reading
//   block   reads the row in steps of 4,096 values, one step ahead; survivors go to a buffer in shared memory
//   thread  16 values of a step, as four vectors
#include "gpu/select/sampled.cuh"
#include "gpu/select/sampled.h"

namespace kith::gpu::sampling {

namespace {

constexpr int threads = 256;

// mine: sample values per thread, of which the minima of mine / items are ranked; stages: of the ring; blocks: per
// multiprocessor.
template <int mine, int items, int capacity, int stages, int blocks>
__global__ void __launch_bounds__(threads, blocks) select_rows(SelectOut out, std::int64_t rows, int n, int rank) {
    extern __shared__ __align__(16) float ring[];
    __shared__ Packed buffer[capacity];
    __shared__ std::uint32_t sums[threads / 16];
    __shared__ int count;
    const int k = static_cast<int>(out.k);
    const auto reader_of = [&](std::int64_t row) {
        return Reader<threads, stages>{{out.values + row * out.row_step, 0, n}, ring};
    };
    std::int64_t row = blockIdx.x;
    auto reader = reader_of(row);
    Sample<threads, mine> sample;
    reader.start();
    if (rank > 0) sample.read(reader.piece);
    for (; row < rows; row += gridDim.x) {
        if (threadIdx.x == 0) count = 0;
        Limit limit(packed_end);
        if (rank > 0) {
            Packed x[items];
            sample.minima(x, reader.piece, out.largest);
            limit = Limit(threshold_of<threads>(x, rank, sample_slack(rank), sums));
        }
        __syncthreads();
        scan_running(reader, limit, k, out.largest, buffer, capacity, &count);
        if (count < k) {
            // The sample misled: once more, and everything passes at first.
            __syncthreads();
            if (threadIdx.x == 0) count = 0;
            __syncthreads();
            reader.start();
            scan_running(reader, Limit(packed_end), k, out.largest, buffer, capacity, &count);
        }
        // The next row is on its way while this one is sorted.
        if (row + gridDim.x < rows) {
            reader = reader_of(row + gridDim.x);
            reader.start();
            if (rank > 0) sample.read(reader.piece);
        }
        const int found = count;
        sort_shared<threads>(buffer, shrink<threads, capacity / threads>(buffer, found, k, sums, &count));
        for (int j = threadIdx.x; j < k; j += threads) out.put(row, j, buffer[j]);
        __syncthreads();
    }
}

template <int mine, int items, int capacity, int stages, int blocks>
void launch(const SelectJob& job, const SelectOut& out) {
    const int rank = job.n <= capacity ? 0 : sample_rank(job.k, job.n, threads * mine);
    const auto kernel = select_rows<mine, items, capacity, stages, blocks>;
    constexpr int bytes = Reader<threads, stages>::ring_size * static_cast<int>(sizeof(float));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "shared memory");
    const std::int64_t grid = std::min<std::int64_t>(job.rows, multiprocessors() * blocks);
    kernel<<<static_cast<unsigned>(grid), threads, bytes, job.stream>>>(out, job.rows, static_cast<int>(job.n), rank);
    check_launch("select_rows");
}

}  // namespace

void select_short(const SelectJob& job, const SelectOut& out) {
    if (job.k <= 192) launch<4, 1, 1024, 2, 3>(job, out);
    else if (job.k <= 640) launch<16, 4, 2048, 2, 3>(job, out);
    else launch<16, 4, 4096, 2, 2>(job, out);
}

}  // namespace kith::gpu::sampling
