// Row-wise sorting of packed entries: one block and a bitonic network in shared memory where a row
// fits, CUB's segmented radix sort where it does not. (Entries of 12 bytes:
// primitives/sort_rows.cu.)
#include "gpu/select/sort_result.cuh"

#include "gpu/primitives/block_sort.cuh"
#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = 512;

// A block owns a row; entries are padded with packed_end to a power of two.
__global__ void __launch_bounds__(threads)
    sort_rows_kernel(const Packed* entries, const std::int32_t* counts, std::int64_t count_step,
                     std::int64_t stride, int most, SelectOut out) {
    extern __shared__ Packed sorted[];
    const std::int64_t row = blockIdx.x;
    const int count = counts ? counts[row * count_step] : most;
    block_sort_of<threads>(sorted, count, [&](int i) { return entries[row * stride + i]; });
    for (int j = threadIdx.x; j < out.k; j += threads) out.put(row, j, sorted[j]);
}

__global__ void put_kernel(const Packed* entries, std::int64_t rows, std::int64_t stride,
                           SelectOut out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < rows * out.k)
        out.put(cell / out.k, cell % out.k, entries[cell / out.k * stride + cell % out.k]);
}

}  // namespace

void sort_packed(Packed* entries, const std::int32_t* counts, std::int64_t count_step,
                 std::int64_t rows, std::int64_t stride, std::int64_t most, const SelectOut& out,
                 cudaStream_t stream) {
    std::int64_t size = 2;
    while (size < most) size *= 2;
    if (size <= sort_packed_block) {
        check(cudaFuncSetAttribute(sort_rows_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(sort_packed_block * sizeof(Packed))),
              "shared memory of sort_rows");
        sort_rows_kernel<<<static_cast<unsigned>(rows), threads,
                           static_cast<std::size_t>(size) * sizeof(Packed), stream>>>(
            entries, counts, count_step, stride, static_cast<int>(most), out);
        check_launch("sort_rows");
        return;
    }
    const std::int64_t cells = rows * stride;
    Buffer<Packed> other(cells, stream);
    const RowSegments segments = row_segments(counts, count_step, rows, stride, most, stream);
    cub::DoubleBuffer<Packed> both(entries, other.get());
    with_temporary("segmented sort", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortKeys(temporary, bytes, both, cells, rows,
                                                       segments.begin.get(), segments.end.get(), 0,
                                                       64, stream);
    });
    put_kernel<<<item_blocks(rows * out.k), item_threads, 0, stream>>>(both.Current(), rows, stride,
                                                                       out);
    check_launch("put_kernel");
}

}  // namespace kith::gpu
