// Bottom-up construction of the hierarchical partition (Tang 2015, Alg. 4).
//
// One launch per level. A block of 32 x 8 threads owns 32 consecutive rows and 8 groups of the
// level below; a warp owns one group of 32 rows; a thread owns one group of one row and writes its
// minimum. (The paper gives a thread all groups of its row, which leaves a GPU idle when the rows
// are few.)
#include "papers/select/queues/hierarchy.cuh"

namespace kith::gpu {

namespace {

constexpr int lanes = 32, groups = 8;

template <int group, class Entry>
__global__ void __launch_bounds__(lanes* groups) minima_kernel(Hierarchy<Entry> h, int level) {
    const auto across = static_cast<unsigned>((h.rows + lanes - 1) / lanes);
    const std::int64_t row = std::int64_t{blockIdx.x % across} * lanes + threadIdx.x;
    const std::int64_t g = std::int64_t{blockIdx.x / across} * groups + threadIdx.y;
    if (row >= h.rows || g >= h.padded[level]) return;
    Packed x[group], smallest = packed_end;
#pragma unroll
    for (int i = 0; i < group; ++i) {
        const std::int64_t child = g * group + i;
        x[i] = child < h.size(level - 1) ? h.at(level - 1, child, row) : packed_end;
    }
#pragma unroll
    for (int i = 0; i < group; ++i) smallest = min(smallest, x[i]);
    h.entries[(h.first[level] + g) * h.rows + row] =
        static_cast<Entry>(Hierarchy<Entry>::keys_alone ? smallest >> 32 : smallest);
}

}  // namespace

template <class Entry>
Hierarchy<Entry> plan_hierarchy(const SelectJob& job, int group_bits) {
    Hierarchy<Entry> h{job.f32(),  job.stride, job.n, job.rows, job.largest,
                       group_bits, 0,          {},    {},       nullptr};
    const std::int64_t group = std::int64_t{1} << group_bits;
    const auto groups_of = [group](std::int64_t size) { return (size + group - 1) / group; };
    std::int64_t next = 0;
    for (std::int64_t size = job.n; size > job.k;) {
        size = groups_of(size);
        ++h.top;
        h.first[h.top] = next;
        h.padded[h.top] = groups_of(size) * group;
        next += h.padded[h.top];
    }
    return h;
}

template <class Entry>
void build_hierarchy(const Hierarchy<Entry>& h, cudaStream_t stream) {
    for (int level = 1; level <= h.top; ++level) {
        const std::int64_t blocks =
            (h.rows + lanes - 1) / lanes * ((h.padded[level] + groups - 1) / groups);
        const dim3 threads(lanes, groups);
        const auto grid = static_cast<unsigned>(blocks);
        if (h.group_bits == 1) minima_kernel<2><<<grid, threads, 0, stream>>>(h, level);
        else if (h.group_bits == 2) minima_kernel<4><<<grid, threads, 0, stream>>>(h, level);
        else minima_kernel<8><<<grid, threads, 0, stream>>>(h, level);
        check_launch("minima_kernel");
    }
}

template Hierarchy<Packed> plan_hierarchy(const SelectJob&, int);
template Hierarchy<MinimumKey> plan_hierarchy(const SelectJob&, int);
template void build_hierarchy(const Hierarchy<Packed>&, cudaStream_t);
template void build_hierarchy(const Hierarchy<MinimumKey>&, cudaStream_t);

}  // namespace kith::gpu
