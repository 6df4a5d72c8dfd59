// WarpSelect and BlockSelect (Johnson, Douze and Jegou 2017; Hanak 2023, 3.6.3): the kernel of
// both.
//
// A block has four warps. WarpSelect: a warp owns a row. BlockSelect: a block owns a row, its warps
// take turns at the row's chunks, and what they found is merged through shared memory at the end. A
// lane owns
//   a thread queue of `length` candidates in registers, sorted from the largest down by insertion,
//   and a share of the warp queue, the `capacity` smallest entries that left the thread queues:
//   striped (bitonic.cuh).
// Invariant: every value seen that belongs to the k smallest is in a thread queue or in the warp
// queue. A value enters its lane's queue if it is below the k-th entry of the warp queue. When any
// lane's queue is full (its largest entry is no longer packed_end), the thread queues are sorted as
// one array of 32 * length entries, an odd size of network, and merged with the warp queue. The
// published queues then hold the rest of the merge; no rest can belong to the k smallest, so ours
// become empty. Packed entries take two registers, as the published (value, index) pairs do, and a
// 64-bit comparison.
#pragma once

#include "gpu/primitives/bitonic.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu::warp_queues {

inline constexpr int warps = 4;  // of a block
inline constexpr int threads = 32 * warps, reads = 8;

struct ValueRows {
    const float* values;
    std::int64_t stride, rows, n;
    int warps_per_row;  // 1: WarpSelect, `warps`: BlockSelect
};

template <int capacity, int length>
struct WarpQueue {
    static constexpr int share = capacity / 32;

    Packed kept[share];
    Packed queue[length];
    Packed radius = packed_end;
    int k;

    __device__ __forceinline__ explicit WarpQueue(int k_) : k(k_) {
#pragma unroll
        for (int j = 0; j < share; ++j) kept[j] = packed_end;
        clear_queue();
    }

    __device__ __forceinline__ void clear_queue() {
#pragma unroll
        for (int j = 0; j < length; ++j) queue[j] = packed_end;
    }

    // In place of the lane's largest candidate, then down to its position.
    __device__ __forceinline__ void insert(Packed p) {
        queue[0] = p;
#pragma unroll
        for (int i = 0; i + 1 < length; ++i) bitonic::order(queue[i + 1], queue[i]);
    }

    __device__ __forceinline__ bool full() const {
        return queue[0] < packed_end;
    }
    __device__ __forceinline__ bool empty() const {
        return queue[length - 1] == packed_end;
    }

    // The thread queues into the warp queue; whole warp.
    __device__ __forceinline__ void merge() {
        bitonic::sort_striped(queue);
#pragma unroll
        for (int j = 0; j < length && j < share; ++j)
            kept[share - 1 - j] =
                bitonic::smaller(kept[share - 1 - j], __shfl_xor_sync(whole_warp, queue[j], 31));
        bitonic::merge_striped(kept);
        clear_queue();
        // Sorted: of the rows up to the k-th entry's, its own holds the largest. (Choosing by
        // equality is turned into an indexed load, which sends the registers to local memory.)
        Packed row = kept[0];
#pragma unroll
        for (int j = 1; j < share; ++j) row = 32 * j < k && row < kept[j] ? kept[j] : row;
        radius = __shfl_sync(whole_warp, row, (k - 1) % 32);
    }
};

// Blocks of an SM that registers must suffice for.
constexpr int blocks_per_sm(int capacity, int length) {
    const int held = 2 * (capacity / 32 + length) + reads;
    return held <= 28 ? 8 : held <= 56 ? 5 : held <= 96 ? 4 : 2;
}

template <int capacity, int length>
__global__ void __launch_bounds__(threads, blocks_per_sm(capacity, length))
    kernel(ValueRows in, SelectOut out) {
    extern __shared__ Packed passed_on[];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const bool whole_block = in.warps_per_row > 1;
    const std::int64_t row =
        whole_block ? blockIdx.x : static_cast<std::int64_t>(blockIdx.x) * warps + warp;
    if (row >= in.rows) return;
    const float* const values = in.values + row * in.stride;
    const std::uint32_t sign = out.largest ? 0x80000000u : 0u;
    WarpQueue<capacity, length> found(static_cast<int>(out.k));
    float bound = __uint_as_float(0x7fffffffu);  // of ascending values; NaN lets everything pass
    const std::int64_t step = 32 * reads * in.warps_per_row;
    for (std::int64_t base = whole_block ? 32 * reads * warp : 0; base < in.n; base += step) {
        float x[reads];
        if (base + 32 * reads <= in.n) {
#pragma unroll
            for (int i = 0; i < reads; ++i) x[i] = values[base + i * 32 + lane];
        } else {
#pragma unroll
            for (int i = 0; i < reads; ++i)
                x[i] = base + i * 32 + lane < in.n ? values[base + i * 32 + lane] : 0.0f;
        }
        unsigned passed = 0;
#pragma unroll
        for (int i = 0; i < reads; ++i)
            passed |=
                static_cast<unsigned>(!(__uint_as_float(__float_as_uint(x[i]) ^ sign) >= bound))
                << i;
        const unsigned anywhere = __reduce_or_sync(whole_warp, passed);
        if (anywhere == 0) continue;
            // Rolled, so that the merge exists once: the value is read again, from a cache, where x
            // would need an index.
#pragma unroll 1
        for (unsigned rest = anywhere; rest != 0; rest &= rest - 1) {
            const int i = __ffs(static_cast<int>(rest)) - 1;
            const std::int64_t at = base + i * 32 + lane;
            if ((passed >> i & 1) && at < in.n) {
                const Packed p = pack(values[at], static_cast<std::uint32_t>(at), out.largest);
                if (p < found.radius) found.insert(p);
            }
            if (__any_sync(whole_warp, found.full())) found.merge();
        }
        auto key = static_cast<std::uint32_t>(found.radius >> 32);
        const bool open = key == exact::Order<float>::nan;  // a NaN, or fewer than k seen
        if (out.largest) key = ~key;
        const std::uint32_t bits = key & 0x80000000u ? key ^ 0x80000000u : ~key;
        bound = open ? __uint_as_float(0x7fffffffu) : __uint_as_float(bits ^ sign);
    }
    if (__any_sync(whole_warp, !found.empty())) found.merge();
    if (whole_block) {
#pragma unroll 1
        for (int half = warps / 2; half > 0; half /= 2) {
            __syncthreads();
            if (warp >= half && warp < 2 * half) {
#pragma unroll
                for (int j = 0; j < found.share; ++j)
                    passed_on[(warp - half) * capacity + 32 * j + lane] = found.kept[j];
            }
            __syncthreads();
            if (warp >= half) continue;
#pragma unroll
            for (int j = 0; j < found.share; ++j)
                found.kept[j] = bitonic::smaller(
                    found.kept[j], passed_on[warp * capacity + capacity - 1 - (32 * j + lane)]);
            bitonic::merge_striped(found.kept);
        }
        if (warp > 0) return;
    }
#pragma unroll
    for (int j = 0; j < found.share; ++j)
        if (32 * j + lane < out.k) out.put(row, 32 * j + lane, found.kept[j]);
}

template <int capacity, int length>
void launch(const SelectJob& job, int warps_per_row) {
    const ValueRows in{job.f32(), job.stride, job.rows, job.n, warps_per_row};
    const bool whole_block = warps_per_row > 1;
    const std::int64_t blocks = whole_block ? job.rows : (job.rows + warps - 1) / warps;
    const std::size_t bytes = whole_block ? warps / 2 * capacity * sizeof(Packed) : 0;
    kernel<capacity, length><<<static_cast<unsigned>(blocks), threads, bytes, job.stream>>>(
        in, out_of(job, SelectLayout::by_row));
    check_launch("warp_select");
}

}  // namespace kith::gpu::warp_queues
