// Truncated quick sort (Sismanis 2012, section 2): a partition drops a side that begins beyond the
// k-th place; the other sides are sorted to their end.
//
// Grid: a block per row. Segments of more than 1024 entries are split by the whole block, four
// entries per lane, from one of two buffers in global memory to the same places of the other
// (splitting.cuh); the smaller side goes first, so that the stack of segments stays short. Smaller
// segments are sorted in shared memory, all their parts in step: a round splits every part by its
// middle entry, with one prefix sum over the block for all of them. A thread owns four adjacent
// places.
//
// Entries are packed (key, index), hence distinct: equal values cost no unbalanced splits, but 8
// bytes each.
#include "papers/select/truncated/splitting.cuh"
#include "papers/select/truncated/truncated_segments.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = segment_threads, window = 4 * threads;
static_assert(threads == split_threads);
constexpr int stack_size = 64;

struct Segment {
    std::uint32_t begin, end;  // places in a buffer, and in the sorted row
    int buffer;                // -1: the row itself
};

struct WindowShared {
    int warp_sums[threads / 32];
    Packed entries[2][window];
    std::uint16_t begin[2][window], end[2][window];  // of the part that a place belongs to
    std::uint16_t
        smaller_before[window + 1];  // entries below their part's pivot in front of a place
};

// Sorts w.entries[0][0 .. count); returns which of the two arrays holds the result.
__device__ int sort_window(WindowShared& w, int count, Tally& tally) {
    const int first = 4 * static_cast<int>(threadIdx.x);
    int now = 0;
    for (int i = first; i < first + 4; ++i) {
        w.begin[0][i] = static_cast<std::uint16_t>(i < count ? 0 : i);
        w.end[0][i] = static_cast<std::uint16_t>(i < count ? count : i + 1);
    }
    __syncthreads();
    for (;;) {
        unsigned smaller = 0, open = 0;
        for (int j = 0; j < 4; ++j) {
            const int i = first + j, begin = w.begin[now][i], end = w.end[now][i],
                      middle = (begin + end) / 2;
            if (end - begin < 2) continue;
            open |= 1u << j;
            if (i == middle) continue;
            tally.compared();
            if (w.entries[now][i] < w.entries[now][middle]) smaller |= 1u << j;
        }
        if (!__syncthreads_or(static_cast<int>(open))) return now;
        int total = 0;
        const int before = block_prefix<threads>(__popc(smaller), w.warp_sums, total);
        for (int j = 0; j < 4; ++j)
            w.smaller_before[first + j] =
                static_cast<std::uint16_t>(before + __popc(smaller & ((1u << j) - 1)));
        if (threadIdx.x == threads - 1)
            w.smaller_before[window] = static_cast<std::uint16_t>(total);
        __syncthreads();
        const int next = 1 - now;
        for (int j = 0; j < 4; ++j) {
            const int i = first + j, begin = w.begin[now][i], end = w.end[now][i],
                      middle = (begin + end) / 2;
            int to = i, to_begin = begin, to_end = end;
            if (open >> j & 1u) {
                const int pivot = begin + w.smaller_before[end] - w.smaller_before[begin];
                const int left = w.smaller_before[i] - w.smaller_before[begin];
                if (i == middle) {
                    to = to_begin = pivot;
                    to_end = pivot + 1;
                } else if (smaller >> j & 1u) {
                    to = begin + left;
                    to_end = pivot;
                } else {
                    to = pivot + 1 + (i - begin - left - (i > middle));
                    to_begin = pivot + 1;
                }
                tally.moved();
            }
            w.entries[next][to] = w.entries[now][i];
            w.begin[next][to] = static_cast<std::uint16_t>(to_begin);
            w.end[next][to] = static_cast<std::uint16_t>(to_end);
        }
        now = next;
        __syncthreads();
    }
}

__global__ void __launch_bounds__(threads)
    truncated_quick_kernel(const float* values, std::int64_t stride, std::uint32_t n,
                           std::uint32_t k, bool largest, Packed* buffers, SelectOut out,
                           unsigned long long* counts) {
    __shared__ SplitShared s;
    __shared__ WindowShared w;
    __shared__ Segment stack[stack_size];
    const std::int64_t row = blockIdx.x;
    const RowWalk<threads> whole{values + row * stride, n, largest};
    const SegmentBuffers buffer{buffers, row, n};
    std::uint32_t seed = static_cast<std::uint32_t>(row);
    Tally tally;
    Segment now{0, n, -1};
    for (int waiting = 0;;) {
        const std::uint32_t count = now.end - now.begin;
        const ListWalk<threads, Packed> list{
            now.buffer < 0 ? nullptr : buffer(now.buffer) + now.begin, count};
        if (count > window) {
            const int target = now.buffer == 0 ? 1 : 0;
            Packed* const to = buffer(target) + now.begin;
            seed += 0x10001u;
            const std::uint32_t left = now.buffer < 0
                                           ? split_by_pivot(whole, count, seed, to, s, tally)
                                           : split_by_pivot(list, count, seed, to, s, tally);
            const Segment front{now.begin, now.begin + left, target},
                back{now.begin + left, now.end, target};
            now = front;
            if (back.begin >= k) continue;
            const bool front_first = left <= count / 2;
            if (threadIdx.x == 0) stack[waiting] = front_first ? back : front;
            ++waiting;
            if (!front_first) now = back;
            continue;
        }
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < count; i += threads)
            w.entries[0][i] = now.buffer < 0 ? whole.get(i) : list.get(i);
        const int sorted = sort_window(w, static_cast<int>(count), tally);
        for (std::uint32_t i = threadIdx.x; i < count && now.begin + i < k; i += threads)
            out.put(row, now.begin + i, w.entries[sorted][i]);
        if (waiting == 0) break;
        __syncthreads();
        now = stack[--waiting];
        __syncthreads();
    }
    tally.add_to(counts);
}

}  // namespace

void truncated_quick(const SelectJob& job, int) {
    truncated_segments(job, truncated_quick_kernel, "truncated_quick_kernel", window);
}

}  // namespace kith::gpu
