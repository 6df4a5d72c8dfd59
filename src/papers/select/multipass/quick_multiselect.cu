// Quick multi-select (Komarov, Dashti, D'Souza 2014, as Tang 2015 compares it): quickselect of
// every row by splitting; the result is unsorted, and sorted after.
//
// Grid: a block per row. A step reads the list in question once, four entries per lane, and splits
// it by a pivot into the other of two buffers: entries up to the pivot from the front, the others
// from the back. The side without the k-th entry is either part of the result or dropped. A list of
// up to 2048 entries is sorted by the block.
//
// The pivot is the median of 32 sampled entries. Entries are packed (key, index) and distinct, so
// both sides of a pivot are shorter than the list, whatever repeats; that costs buffers of 8
// instead of 4 bytes per entry.
#include "gpu/primitives/block_sort.cuh"
#include "papers/select/truncated/splitting.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = split_threads;
constexpr std::uint32_t base = 2048;

__global__ void __launch_bounds__(threads)
    quick_kernel(const float* values, std::int64_t stride, std::uint32_t n, std::uint32_t k,
                 bool largest, Packed* buffers, RowResult result) {
    __shared__ SplitShared s;
    __shared__ Packed sorted[base];
    const std::int64_t row = blockIdx.x;
    const RowWalk<threads> whole{values + row * stride, n, largest};
    Packed* const front_buffer = buffers + row * 2 * n;
    Packed* list = nullptr;  // null: the row
    std::uint32_t need = k, count = n, written = 0;
    int target = 0;
    const auto give = [&](const auto& source, std::uint32_t entries) {
        for (std::uint32_t i = threadIdx.x; i < entries; i += threads)
            result.put(row, written + i, source.get(i));
        written += entries;
    };
    Tally tally;
    for (std::uint32_t seed = static_cast<std::uint32_t>(row); count > base && need < count;
         seed += 0x10001u) {
        Packed* const to = front_buffer + static_cast<std::int64_t>(target) * n;
        target = 1 - target;
        const ListWalk<threads, Packed> rest{list, count};
        const std::uint32_t left = list ? split_by_pivot(rest, count, seed, to, s, tally)
                                        : split_by_pivot(whole, count, seed, to, s, tally);
        list = to;
        if (left >= need) {
            count = left;
        } else {
            give(ListWalk<threads, Packed>{to, left}, left);
            need -= left;
            list = to + left;
            count -= left;
        }
    }
    const ListWalk<threads, Packed> rest{list, count};
    if (need == count) {
        if (list) give(rest, count);
        else give(whole, count);
        return;
    }
    block_sort_of<threads>(sorted, count,
                           [&](std::uint32_t i) { return list ? rest.get(i) : whole.get(i); });
    for (std::uint32_t j = threadIdx.x; j < need; j += threads)
        result.put(row, written + j, sorted[j]);
}

}  // namespace

void quick_multiselect(const SelectJob& job, int) {
    const bool at_once = job.n <= base || job.k == job.n;
    Buffer<Packed> buffers(at_once ? 0 : job.rows * 2 * job.n, job.stream);
    select_then_sort(job, [&](const RowResult& result) {
        quick_kernel<<<static_cast<unsigned>(job.rows), threads, 0, job.stream>>>(
            job.f32(), job.stride, static_cast<std::uint32_t>(job.n),
            static_cast<std::uint32_t>(job.k), job.largest, buffers.get(), result);
        check_launch("quick_kernel");
    });
}

}  // namespace kith::gpu
