// "bits-partitions" (Hanak 2023, 5.4.2): few rows, cut into parts for many blocks; a second pass
// merges the parts.
//
// First grid: a block per part (bits.cuh) leaves the part's sorted k smallest as a list. Second
// grid: a block per row reads the lists across, the smallest entries of all lists first, a thread
// owning `reads` entries of a chunk. A chunk holds at least one entry of every list, so the first
// chunk without a candidate ends the row; the thesis, whose second pass is the bits kernel on the
// lists, reads them all.
#include <algorithm>

#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/bits/bits.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = 256, reads = 4;
constexpr std::int64_t most_parts = 512;
static_assert(most_parts <= threads * reads);

template <int capacity, int items>
__global__ void __launch_bounds__(threads)
    merge_lists(const Packed* lists, int parts, SelectOut out) {
    using Queue = BlockQueue<capacity, threads, items>;
    __shared__ typename Queue::Storage storage;
    Queue queue{storage, static_cast<int>(out.k)};
    queue.clear();
    const std::int64_t row = blockIdx.x;
    const int k = queue.k, total = parts * k;
    lists += row * total;
    for (int base = 0; base < total; base += threads * reads) {
        Packed x[reads];
#pragma unroll
        for (int i = 0; i < reads; ++i) {
            const int e = base + i * threads + static_cast<int>(threadIdx.x);
            x[i] = e < total ? lists[static_cast<std::int64_t>(e % parts) * k + e / parts]
                             : packed_end;
        }
        unsigned left = (1u << reads) - 1, candidates = 0;
        bool again = false;
        do {
            if (again) queue.merge_buffer();
            const Packed radius = queue.radius();
#pragma unroll
            for (int i = 0; i < reads; ++i) {
                if (!(left >> i & 1)) continue;
                if (x[i] < radius) {
                    candidates = 1;
                    const int at = atomicAdd(&storage.fill, 1);
                    if (at >= Queue::buffer_size) continue;
                    storage.buffer[at] = x[i];
                }
                left ^= 1u << i;
            }
            again = __syncthreads_or(static_cast<int>(left));
        } while (again);
        if (!__syncthreads_or(static_cast<int>(candidates))) break;
    }
    if (storage.fill > 0) queue.merge_buffer();
    for (int j = threadIdx.x; j < k; j += threads) out.put(row, j, queue.at(j));
}

// Parts for one wave of the blocks of bits (four per SM), each long enough to be worth a list of k.
std::int64_t chosen_parts(const SelectJob& job) {
    const std::int64_t wave = std::int64_t{4} * device_attributes().multiprocessors / job.rows;
    const std::int64_t worth = job.n / std::max<std::int64_t>(16384, 8 * job.k);
    return std::clamp<std::int64_t>(std::min(wave, worth), 1, most_parts);
}

}  // namespace

// variant: the number of parts; 0: chosen.
void bits_partitions(const SelectJob& job, int variant) {
    BitsScan scan{job};
    scan.parts = std::min<std::int64_t>(variant == 0 ? chosen_parts(job) : variant, job.n);
    if (scan.parts == 1) return bits_scan(scan);
    scan.part_size = (job.n + scan.parts - 1) / scan.parts;
    scan.parts = (job.n + scan.part_size - 1) / scan.part_size;
    const Buffer<Packed> lists(job.rows * scan.parts * job.k, job.stream);
    scan.lists = lists.get();
    bits_scan(scan);
    const auto merge = [&](auto* kernel) {
        kernel<<<static_cast<unsigned>(job.rows), threads, 0, job.stream>>>(
            lists.get(), static_cast<int>(scan.parts), out_of(job, SelectLayout::by_row));
        check_launch("merge_lists");
    };
    if (job.k <= 128) merge(merge_lists<128, 2>);
    else if (job.k <= 512) merge(merge_lists<512, 2>);
    else merge(merge_lists<2048, 8>);
}

}  // namespace kith::gpu
