// Each coordinate is replaced by its rank, such that neither outliers nor scales matter: a sort for each, and one of
// the indices on the curve.
#include "gpu/tree/order.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "exact/order.h"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/runtime/launch.h"
#include "gpu/tree/curve.h"
#include "gpu/tree/tree.h"

namespace kith::gpu {

namespace {

struct Largest {
    KITH_HD std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a > b ? a : b; }
};

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

__global__ void coordinate_kernel(const double* values, std::int64_t count, std::int64_t d, std::int64_t axis,
                                  std::uint64_t* keys, std::uint32_t* rows) {
    const std::int64_t row = own_item();
    if (row >= count) return;
    keys[row] = exact::Order<double>::key(values[row * d + axis]);
    rows[row] = static_cast<std::uint32_t>(row);
}

// ranks[p] = p where another value begins, else 0.
__global__ void begin_kernel(const std::uint64_t* sorted, std::int64_t count, std::uint32_t* ranks) {
    const std::int64_t place = own_item();
    if (place >= count) return;
    const bool equal = place > 0 && sorted[place] == sorted[place - 1];
    ranks[place] = equal ? 0 : static_cast<std::uint32_t>(place);
}

// Of row rows[p] the cell of rank ranks[p].
__global__ void cell_kernel(const std::uint32_t* rows, const std::uint32_t* ranks, std::int64_t count, int bits,
                            std::uint32_t* cells) {
    const std::int64_t place = own_item();
    if (place >= count) return;
    cells[rows[place]] =
        static_cast<std::uint32_t>((std::uint64_t{ranks[place]} << bits) / static_cast<std::uint64_t>(count));
}

__global__ void index_kernel(const std::uint32_t* cells, const std::uint8_t* nan, std::int64_t count, CurveShape shape,
                             std::uint64_t* keys, std::uint32_t* rows) {
    const std::int64_t row = own_item();
    if (row >= count) return;
    std::uint32_t cell[most_curve_axes];
    for (int i = 0; i < shape.axes; ++i) cell[i] = cells[i * count + row];
    keys[row] = nan[row] ? std::uint64_t{1} << shape.index_bits() : curve_index(shape, cell);
    rows[row] = static_cast<std::uint32_t>(row);
}

__global__ void number_kernel(std::int64_t count, std::uint32_t* numbers) {
    const std::int64_t i = own_item();
    if (i < count) numbers[i] = static_cast<std::uint32_t>(i);
}

template <class Key>
void sort_pairs(const Buffer<Key>& keys, Buffer<Key>& sorted, const Buffer<std::uint32_t>& rows,
                Buffer<std::uint32_t>& sorted_rows, int bits, cudaStream_t stream) {
    with_temporary("sort along a curve", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys.get(), sorted.get(), rows.get(),
                                               sorted_rows.get(), keys.size(), 0, bits, stream);
    });
}

}  // namespace

Buffer<std::uint32_t> curve_order(const double* values, const std::uint8_t* nan, std::int64_t count, std::int64_t d,
                                  cudaStream_t stream) {
    const CurveShape shape = curve_shape(d);
    Buffer<std::uint64_t> keys(count, stream), sorted(count, stream);
    Buffer<std::uint32_t> rows(count, stream), order(count, stream), ranks(count, stream),
        cells(count * shape.axes, stream);
    const unsigned blocks = item_blocks(count);
    for (int i = 0; i < shape.axes; ++i) {
        coordinate_kernel<<<blocks, item_threads, 0, stream>>>(values, count, d, i, keys.get(), rows.get());
        check_launch("coordinate");
        sort_pairs(keys, sorted, rows, order, 64, stream);
        begin_kernel<<<blocks, item_threads, 0, stream>>>(sorted.get(), count, ranks.get());
        check_launch("begin");
        with_temporary("scan of ranks", stream, [&](void* temporary, std::size_t& bytes) {
            return cub::DeviceScan::InclusiveScan(temporary, bytes, ranks.get(), ranks.get(), Largest{}, count, stream);
        });
        cell_kernel<<<blocks, item_threads, 0, stream>>>(order.get(), ranks.get(), count, shape.bits,
                                                         cells.get() + i * count);
        check_launch("cell");
    }
    index_kernel<<<blocks, item_threads, 0, stream>>>(cells.get(), nan, count, shape, keys.get(), rows.get());
    check_launch("index");
    sort_pairs(keys, sorted, rows, order, shape.index_bits() + 1, stream);
    return order;
}

Buffer<std::uint32_t> sorted_numbers(const Buffer<std::uint32_t>& keys, int bits, cudaStream_t stream) {
    const std::int64_t count = keys.size();
    Buffer<std::uint32_t> sorted(count, stream), numbers(count, stream), order(count, stream);
    number_kernel<<<item_blocks(count), item_threads, 0, stream>>>(count, numbers.get());
    check_launch("number");
    sort_pairs(keys, sorted, numbers, order, bits, stream);
    return order;
}

}  // namespace kith::gpu
