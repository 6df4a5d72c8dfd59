// A warp owns a query's candidates in a part of the points. Blocks take all queries' of a part
// before those of the next: where queries are many, rows that several have are in L2 when the
// second asks for them.
#include "gpu/filter/reread.cuh"
#include "gpu/filter/row_products.cuh"
#include "gpu/runtime/check.h"

namespace kith::gpu {

namespace {

// More warps at a time have the rows of more parts in use than L2 holds: on an NVIDIA H100,
// 2026-11-28, n 1,048,576, q 8,192, d 1,536, k 100, a search takes 16.7 ms with 32 on a
// multiprocessor, 18.3 with 40, 19.6 with 48.
constexpr int warps = 4, blocks_of_multiprocessor = 8, batch = 4;
// Candidates that a lane looks at at once, and those that are gathered before their rows are read.
constexpr int each = 4, most_gathered = 32 * (each + 1);

// What the stages leave of a query's candidates, for a warp: lane i knows where those of share i
// begin.
class WarpCandidates {
public:
    __device__ WarpCandidates(const RereadTask& task, std::int64_t q, int passed, int shares)
        : found_(task.found + q * task.room),
          size_(size_of_share(passed, shares)),
          used_((passed + size_ - 1) / size_) {
        const int lane = static_cast<int>(threadIdx.x % 32),
                  own = lane < used_ ? task.left[q * shares + lane] : 0;
        int end = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, end, step);
            if (lane >= step) end += before;
        }
        begin_ = end - own;
        count_ = __shfl_sync(0xffffffffu, end, 31);
    }
    __device__ int count() const {
        return count_;
    }
    // The point of the i-th, of each lane's i; no_point beyond the last.
    __device__ std::uint32_t point(int i) const {
        int share = 0;
#pragma unroll
        for (int step = most_warp_shares / 2; step > 0; step /= 2) {
            const int begin = __shfl_sync(0xffffffffu, begin_, share + step);
            if (share + step < used_ && begin <= i) share += step;
        }
        const int begin = __shfl_sync(0xffffffffu, begin_, share);
        return i < count_ ? found_[share * size_ + i - begin].point : no_point;
    }
    static constexpr std::uint32_t no_point = 0xffffffff;

private:
    static constexpr int most_warp_shares = most_shares / 4;  // shares_of() many queries
    static_assert(most_warp_shares <= 32);
    const Candidate* found_;
    int size_, used_, begin_, count_;
};

__global__ void __launch_bounds__(warps * 32, blocks_of_multiprocessor)
    parts_kernel(CandidateLists lists, RereadTask task, int shares) {
    __shared__ std::uint32_t gathered[warps][most_gathered];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const std::int64_t q = static_cast<std::int64_t>(blockIdx.x) * warps + warp;
    if (q >= lists.q) return;
    const int passed = task.counts[q];
    if (passed > task.room) return;
    const WarpCandidates candidates(task, q, passed, shares);
    const auto first = static_cast<std::uint32_t>(task.first + blockIdx.y * task.part),
               length = static_cast<std::uint32_t>(min(task.part, task.end - first));
    const float threshold = lists.threshold[q];
    const auto words = static_cast<int>(task.width / 8);
    const ReadOnlyRow query{static_cast<const uint4*>(task.queries) + q * words};
    std::uint32_t* const points = gathered[warp];
    int count = 0;
    const auto read_gathered = [&] {
        __syncwarp();
        for (int at = 0; at < count; at += batch) {
            std::uint32_t point[batch];
#pragma unroll
            for (int j = 0; j < batch; ++j) point[j] = points[min(at + j, count - 1)];
            const float value = row_products(query, task.points, point, words);
            if (lane >= batch || at + lane >= count) continue;
            const std::uint32_t own = points[at + lane];
            append_within(lists, q, {task.half_norm[own] - value, own}, threshold);
        }
        __syncwarp();
        count = 0;
    };
    for (int at = 0; at < candidates.count(); at += 32 * each) {
        std::uint32_t point[each];
#pragma unroll
        for (int i = 0; i < each; ++i) point[i] = candidates.point(at + i * 32 + lane);
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const bool own = point[i] != WarpCandidates::no_point && point[i] - first < length;
            const unsigned all = __ballot_sync(0xffffffffu, own);
            if (own) points[count + __popc(all & ((1u << lane) - 1))] = point[i];
            count += __popc(all);
        }
        if (count > most_gathered - 32 * each) read_gathered();
    }
    read_gathered();
}

}  // namespace

void read_by_parts(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream) {
    const dim3 blocks(static_cast<unsigned>((lists.q + warps - 1) / warps),
                      static_cast<unsigned>((task.end - task.first + task.part - 1) / task.part));
    parts_kernel<<<blocks, warps * 32, 0, stream>>>(lists, task,
                                                    static_cast<int>(shares_of(lists.q)));
    check_launch("read_by_parts");
}

}  // namespace kith::gpu
