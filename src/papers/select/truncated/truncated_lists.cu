// Joining the k-lists of a row's slices (Sismanis 2012, section 2): pairwise merges, the larger k
// entries purged.
//
// Grid of a round: a block of 128 threads per pair of lists; a thread owns adjacent places of the
// merged list (merge path). The last kernel writes the result, a thread per neighbour.
#include "papers/select/truncated/truncated_lists.h"

#include <algorithm>
#include <utility>

#include "gpu/primitives/merge_part.cuh"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = 128;

// `from`: rows x count lists, `to`: rows x (count + 1) / 2. A list without a partner merges with
// nothing.
__global__ void __launch_bounds__(threads)
    merge_lists_kernel(const Packed* from, std::int64_t count, Packed* to, std::int64_t k,
                       unsigned long long* counts) {
    const std::int64_t pairs = (count + 1) / 2, row = blockIdx.x / pairs, pair = blockIdx.x % pairs;
    const Packed* const a = from + (row * count + 2 * pair) * k;
    Packed* const merged = to + (row * pairs + pair) * k;
    const int size = static_cast<int>(k), partner = 2 * pair + 1 < count ? size : 0;
    const int each = (size + threads - 1) / threads,
              first = min(static_cast<int>(threadIdx.x) * each, size);
    Tally tally;
    merge_part(a, size, a + k, partner, first, min(first + each, size), tally,
               [&](int j, Packed p) { merged[j] = p; });
    tally.add_to(counts);
}

__global__ void put_lists_kernel(const Packed* lists, std::int64_t rows, SelectOut out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < rows * out.k) out.put(cell / out.k, cell % out.k, lists[cell]);
}

}  // namespace

Slices cut_rows(const SelectJob& job, std::int64_t wanted, std::int64_t shortest) {
    shortest = std::max(shortest, 4 * job.k);
    const std::int64_t most = std::max<std::int64_t>(1, job.n / shortest);
    const std::int64_t per_row =
        std::clamp<std::int64_t>((wanted + job.rows - 1) / job.rows, 1, most);
    const std::int64_t length = (job.n + per_row - 1) / per_row;
    return {(job.n + length - 1) / length, length};
}

Packed* merge_lists(Packed* lists, Packed* other, std::int64_t rows, std::int64_t count,
                    std::int64_t k, unsigned long long* counts, cudaStream_t stream) {
#ifdef KITH_COUNT_OPERATIONS
    const Buffer<unsigned long long> unread(counts ? 0 : operation_slots, stream);
    if (!counts) counts = unread.get();
#endif
    for (; count > 1; count = (count + 1) / 2) {
        const std::int64_t pairs = (count + 1) / 2;
        merge_lists_kernel<<<static_cast<unsigned>(rows * pairs), threads, 0, stream>>>(
            lists, count, other, k, counts);
        check_launch("merge_lists_kernel");
        std::swap(lists, other);
    }
    return lists;
}

void put_lists(const Packed* lists, const SelectJob& job) {
    put_lists_kernel<<<item_blocks(job.rows * job.k), item_threads, 0, job.stream>>>(
        lists, job.rows, out_of(job, SelectLayout::by_row));
    check_launch("put_lists_kernel");
}

void join_lists(const Buffer<Packed>& lists, const Slices& slices, const SelectJob& job) {
    const Buffer<Packed> other(job.rows * merged_lists(slices.per_row) * job.k, job.stream);
    const Packed* const merged = merge_lists(lists.get(), other.get(), job.rows, slices.per_row,
                                             job.k, job.counts, job.stream);
    put_lists(merged, job);
}

}  // namespace kith::gpu
