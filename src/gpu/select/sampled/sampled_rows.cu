// "sampled" for rows that one block selects from: sample, scan, sort in one kernel.
//
//   grid    one block per row, several per multiprocessor, so that one block's sorting hides behind
//   the others' reading block   reads the row in steps of 16 values a thread; candidates go to a
//   buffer in shared memory
#include "gpu/select/sampled/sampled.cuh"
#include "gpu/select/sampled/sampled.h"

namespace kith::gpu::sampling {

namespace {

// mine: sample values per thread, of which the minima of mine / items are ranked; blocks: per
// multiprocessor.
template <int threads, int mine, int items, int capacity, int blocks>
__global__ void __launch_bounds__(threads, blocks) select_rows(SelectOut out, int n, int rank) {
    __shared__ Packed buffer[capacity];
    __shared__ std::uint32_t sums[threads / 16];
    __shared__ int count;
    const std::int64_t row = blockIdx.x;
    const int k = static_cast<int>(out.k);
    Reader<threads> reader{{out.values + row * out.row_step, 0, n}, out.largest, {}};
    // The first step is on its way while the sample is ranked.
    reader.load(reader.slice.begin());
    if (threadIdx.x == 0) count = 0;
    Limit limit(packed_end);
    if (rank > 0) {
        Sample<threads, mine> sample;
        sample.read(reader.slice);
        Packed x[items];
        sample.minima(x, reader.slice, out.largest);
        limit = Limit(threshold_of<threads>(x, rank, sample_slack(rank), sums));
    }
    __syncthreads();
    scan_running(reader, limit, k, buffer, capacity, &count);
    if (count < k) {
        // The sample misled: once more, and everything passes at first.
        __syncthreads();
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        reader.load(reader.slice.begin());
        scan_running(reader, Limit(packed_end), k, buffer, capacity, &count);
    }
    const int found = count;
    block_sort_in_registers<threads>(
        buffer, shrink<threads, capacity / threads>(buffer, found, k, sums, &count));
    for (int j = threadIdx.x; j < k; j += threads) out.put(row, j, buffer[j]);
}

template <int threads, int mine, int items, int capacity, int blocks>
void launch(const SelectJob& job, const SelectOut& out) {
    const int rank = job.n <= capacity ? 0 : sample_rank(job.k, job.n, threads * mine);
    select_rows<threads, mine, items, capacity, blocks>
        <<<static_cast<unsigned>(job.rows), threads, 0, job.stream>>>(out, static_cast<int>(job.n),
                                                                      rank);
    check_launch("select_rows");
}

}  // namespace

void select_short(const SelectJob& job, const SelectOut& out) {
    if (job.k <= 192) launch<128, 8, 1, 1024, 8>(job, out);
    else if (job.k <= 640) launch<256, 8, 2, 2048, 4>(job, out);
    else launch<512, 8, 2, 4096, 2>(job, out);
}

}  // namespace kith::gpu::sampling
