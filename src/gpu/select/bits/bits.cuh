// "bits" (Hanak 2023, 4.1): the kernel, for any size of block, buffer and reads.
//
// A grid has a block per part of a row (one part: the whole row). The block scans its part
// (scan_row.cuh) into its queue (block_queue.cuh); a thread owns `reads` values per chunk of the
// scan and `items` entries in a merge.
#pragma once

#include "gpu/select/bits/block_queue.cuh"
#include "gpu/select/bits/scan_row.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu {

struct BitsScan {
    SelectJob job;
    std::int64_t parts = 1,
                 part_size =
                     0;  // part p holds the columns [p * part_size, (p + 1) * part_size) of its row
    Packed* lists = nullptr;  // parts * k sorted entries per row, packed_end where a part is short;
                              // null: to the result
};

// One scan per row into the result, by the policy that "bits" uses for k; parts of rows into their
// lists.
void bits_scan(const BitsScan& scan);

namespace bits {

struct RowParts {
    const float* values;
    std::int64_t stride, n, parts, part_size;
    Packed* lists;
    unsigned long long* counts;
};

// Blocks of an SM that registers must suffice for: 1024 threads, fewer where a merge finds many of
// them taken.
constexpr int blocks_per_sm(int threads, int items, int reads, Prefetch prefetch) {
    const int held = 2 * items + (prefetch == Prefetch::ahead ? reads : 0);
    return (held < 32 ? 1024 : held < 40 ? 768 : 640) / threads;
}

template <int capacity, int threads, int items, int reads, Prefetch prefetch>
__global__ void __launch_bounds__(threads, blocks_per_sm(threads, items, reads, prefetch))
    kernel(RowParts in, SelectOut out) {
    using Queue = BlockQueue<capacity, threads, items>;
    __shared__ typename Queue::Storage storage;
    Queue queue{storage, static_cast<int>(out.k)};
    queue.clear();
    const std::int64_t row = blockIdx.x / in.parts, part = blockIdx.x % in.parts;
    const std::int64_t first = part * in.part_size;
    const std::int64_t left = in.n - first;
    const Stretch stretch{in.values + row * in.stride + first,
                          left < in.part_size ? left : in.part_size,
                          static_cast<std::uint32_t>(first), out.largest, in.counts};
    RowScan<Queue, reads, prefetch>(queue, stretch).run();
    for (int j = threadIdx.x; j < queue.k; j += threads) {
        if (in.lists) in.lists[blockIdx.x * out.k + j] = queue.at(j);
        else out.put(row, j, queue.at(j));
    }
}

template <int capacity, int threads, int items, int reads, Prefetch prefetch>
void launch(const BitsScan& s) {
    const SelectJob& job = s.job;
    const RowParts in{job.f32(), job.stride, job.n, s.parts, s.parts == 1 ? job.n : s.part_size,
                      s.lists,   job.counts};
    kernel<capacity, threads, items, reads, prefetch>
        <<<static_cast<unsigned>(job.rows * s.parts), threads, 0, job.stream>>>(
            in, out_of(job, SelectLayout::by_row));
    check_launch("bits");
}

}  // namespace bits
}  // namespace kith::gpu
