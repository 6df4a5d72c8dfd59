// Partial bitonic sort (Krulis 2015, as in Hanak 2023, 3.5.1): every segment of K values is sorted
// and merged.
//
// A grid has a block per row. The block keeps the K smallest entries so far sorted, K being k
// rounded up to a power of two and at least 32; it reads K new values, sorts them, keeps the
// smaller of each pair with the reversed kept entries and sorts that bitonic sequence. Three homes
// of the network (Hanak 2023, Fig. 5.2):
//   bitonic-shared     every layer in shared memory, a thread per comparator
//   bitonic-shuffle    strides below 32 by shuffles, a lane per entry; the others in shared memory
//   bitonic-registers  consecutive entries per thread in registers (block_queue.cuh)
// Published on (distance, label) pairs with ties open; the packed entry has the pair's 8 bytes, and
// its comparison is one of 64 bits instead of 32.
#include <bit>

#include "gpu/select/bits/block_queue.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu {

namespace {

// Hanak 2023, 5.3.1: 128 threads up to k = 512, 256 above; one warp where 128 would have nothing to
// do.
constexpr int threads_for(int size) {
    return size <= 64 ? 32 : size <= 512 ? 128 : 256;
}

struct ValueRows {
    const float* values;
    std::int64_t stride, n;

    __device__ __forceinline__ Packed entry(std::int64_t row, std::int64_t c, bool largest) const {
        return c < n ? pack(values[row * stride + c], static_cast<std::uint32_t>(c), largest)
                     : packed_end;
    }
};

// Strides 16 ... 1 of every 32 entries; with `whole`, the full sort of every 32.
template <bool whole>
__device__ __forceinline__ void warps_in_shared(Packed* x, int size) {
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        Packed one[1] = {x[i]};
        if (whole) bitonic::sort_striped(one);
        else bitonic::merge_striped(one);
        x[i] = one[0];
    }
}

template <bool shuffles>
__device__ __forceinline__ void plain_layers(Packed* x, int size, int stride) {
    for (; stride >= (shuffles ? 32 : 1); stride /= 2)
        bitonic::layer_in_shared(x, size, stride, stride);
    if (shuffles) warps_in_shared<false>(x, size);
}

template <bool shuffles>
__global__ void __launch_bounds__(256) partial_kernel(ValueRows in, int size, SelectOut out) {
    extern __shared__ Packed segments[];
    Packed *kept = segments, *fresh = segments + size;
    const std::int64_t row = blockIdx.x;
    for (int i = threadIdx.x; i < size; i += blockDim.x) kept[i] = packed_end;
    for (std::int64_t base = 0; base < in.n; base += size) {
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            fresh[i] = in.entry(row, base + i, out.largest);
        if (shuffles) warps_in_shared<true>(fresh, size);
        for (int run = shuffles ? 64 : 2; run <= size; run *= 2) {
            bitonic::layer_in_shared(fresh, size, run - 1, run / 2);
            plain_layers<shuffles>(fresh, size, run / 4);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            kept[i] = bitonic::smaller(kept[i], fresh[size - 1 - i]);
        plain_layers<shuffles>(kept, size, size / 2);
        __syncthreads();
    }
    for (int j = threadIdx.x; j < out.k; j += blockDim.x) out.put(row, j, kept[j]);
}

template <int size>
__global__ void __launch_bounds__(256) registers_kernel(ValueRows in, SelectOut out) {
    constexpr int threads = threads_for(size), items = size / threads;
    using Queue = BlockQueue<size, threads, items>;
    __shared__ typename Queue::Storage storage;
    Queue queue{storage, static_cast<int>(out.k)};
    queue.clear();
    const std::int64_t row = blockIdx.x;
    for (std::int64_t base = 0; base < in.n; base += size) {
        Packed x[items];
#pragma unroll
        for (int i = 0; i < items; ++i)
            x[i] = in.entry(row, base + i * threads + threadIdx.x, out.largest);
        queue.merge(x);
    }
    for (int j = threadIdx.x; j < out.k; j += threads) out.put(row, j, queue.at(j));
}

template <int size>
void launch_registers(const SelectJob& job, const ValueRows& in, const SelectOut& out) {
    registers_kernel<size>
        <<<static_cast<unsigned>(job.rows), threads_for(size), 0, job.stream>>>(in, out);
}

}  // namespace

void partial_bitonic(const SelectJob& job, int variant) {
    const ValueRows in{job.f32(), job.stride, job.n};
    const SelectOut out = out_of(job, SelectLayout::by_row);
    const int size =
        static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(job.k < 32 ? 32 : job.k)));
    const auto rows = static_cast<unsigned>(job.rows);
    const std::size_t bytes = 2 * static_cast<std::size_t>(size) * sizeof(Packed);
    if (variant == 0) {
        partial_kernel<false><<<rows, threads_for(size), bytes, job.stream>>>(in, size, out);
    } else if (variant == 1) {
        partial_kernel<true><<<rows, threads_for(size), bytes, job.stream>>>(in, size, out);
    } else {
        switch (size) {
            case 32:
                launch_registers<32>(job, in, out);
                break;
            case 64:
                launch_registers<64>(job, in, out);
                break;
            case 128:
                launch_registers<128>(job, in, out);
                break;
            case 256:
                launch_registers<256>(job, in, out);
                break;
            case 512:
                launch_registers<512>(job, in, out);
                break;
            case 1024:
                launch_registers<1024>(job, in, out);
                break;
            default:
                launch_registers<2048>(job, in, out);
        }
    }
    check_launch("partial_bitonic");
}

}  // namespace kith::gpu
