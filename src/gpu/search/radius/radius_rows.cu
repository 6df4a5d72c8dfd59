// Kernels of radius_rows.h. A block owns a query, or its row.
#include "gpu/search/radius/radius_rows.h"

#include <bit>

#include "gpu/filter/lists/ball_thresholds.h"
#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/sort/bitonic.cuh"
#include "gpu/primitives/sort/segmented_sort.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int block = 256;
// Entries of a row that one block sorts in shared memory.
constexpr int sorted_at_once = 2048;

struct PlaceTask {
    const std::uint64_t* from_keys;
    const std::uint32_t* from_ids;
    const std::int64_t* from_offsets;
    const std::int64_t* rows;
    std::int64_t first_row;
    const std::uint8_t* state;
    std::int64_t first;
    const std::int64_t* offsets;
    std::int64_t* cursors;
    std::uint64_t* keys;
    std::int64_t* ids;
};

// No two queries of a part have the same row.
__global__ void __launch_bounds__(block) place_kernel(PlaceTask task) {
    const std::int64_t query = blockIdx.x;
    if (task.state && task.state[query] != ball_answered) return;
    const std::int64_t row = task.rows ? task.rows[query] : task.first_row + query,
                       from = task.from_offsets[query], count = task.from_offsets[query + 1] - from,
                       to = task.offsets[row] + task.cursors[row];
    for (std::int64_t i = threadIdx.x; i < count; i += block) {
        task.keys[to + i] = task.from_keys[from + i];
        task.ids[to + i] = task.first + static_cast<std::int64_t>(task.from_ids[from + i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) task.cursors[row] += count;
}

// In place, of rows that are not too long; entries are padded with the largest (key, id) to a power
// of two.
__global__ void __launch_bounds__(block)
    sort_kernel(const std::int64_t* offsets, std::uint64_t* keys, std::int64_t* ids) {
    __shared__ std::uint64_t key[sorted_at_once];
    __shared__ std::int64_t id[sorted_at_once];
    const std::int64_t first = offsets[blockIdx.x];
    const auto count = static_cast<int>(offsets[blockIdx.x + 1] - first);
    if (count < 2 || count > sorted_at_once) return;
    int size = 2;
    while (size < count) size *= 2;
    for (int i = static_cast<int>(threadIdx.x); i < size; i += block) {
        key[i] = i < count ? keys[first + i] : ~std::uint64_t{0};
        id[i] = i < count ? ids[first + i] : 0x7fffffffffffffff;
    }
    bitonic::sort_runs<block>(size, [&](int i, int j, bool ascending) {
        const bool second_first = key[j] != key[i] ? key[j] < key[i] : id[j] < id[i];
        if (second_first != ascending) return;
        const std::uint64_t larger_key = key[i];
        key[i] = key[j];
        key[j] = larger_key;
        const std::int64_t larger_id = id[i];
        id[i] = id[j];
        id[j] = larger_id;
    });
    for (int i = static_cast<int>(threadIdx.x); i < count; i += block) {
        keys[first + i] = key[i];
        ids[first + i] = id[i];
    }
}

}  // namespace

void place_part(const RadiusPart& part, const std::int64_t* offsets, std::int64_t* cursors,
                std::uint64_t* keys, std::int64_t* ids, cudaStream_t stream) {
    place_kernel<<<static_cast<unsigned>(part.q), block, 0, stream>>>(
        {.from_keys = part.keys.get(),
         .from_ids = part.ids.get(),
         .from_offsets = part.offsets.get(),
         .rows = part.rows,
         .first_row = part.first_row,
         .state = part.state,
         .first = part.first,
         .offsets = offsets,
         .cursors = cursors,
         .keys = keys,
         .ids = ids});
    check_launch("place_part");
}

void sort_radius_rows(const std::vector<std::int64_t>& host_offsets, const std::int64_t* offsets,
                      std::int64_t n, const Buffer<std::uint64_t>& keys,
                      const Buffer<std::int64_t>& ids, cudaStream_t stream) {
    const std::size_t q = host_offsets.size() - 1;
    sort_kernel<<<static_cast<unsigned>(q), block, 0, stream>>>(offsets, keys.get(), ids.get());
    check_launch("sort_radius_rows");
    std::vector<std::int64_t> ends;  // the longer rows' begins, then their ends
    for (const std::size_t end : {0, 1})
        for (std::size_t i = 0; i < q; ++i)
            if (host_offsets[i + 1] - host_offsets[i] > sorted_at_once)
                ends.push_back(host_offsets[i + end]);
    if (ends.empty()) return;
    const auto rows = static_cast<std::int64_t>(ends.size() / 2), entries = keys.size();
    const Buffer<std::int64_t> segments(2 * rows, stream);
    InFlight reading(stream);
    check(cudaMemcpyAsync(segments.get(), ends.data(), ends.size() * sizeof(std::int64_t),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("search by radius");
    const std::int64_t *const begin = segments.get(), *const end = begin + rows;
    // By ids, then stably by keys; the second sort writes the entries back to their place.
    const Buffer<std::uint64_t> other_keys(entries, stream);
    const Buffer<std::int64_t> other_ids(entries, stream);
    const int bits = std::bit_width(static_cast<std::uint64_t>(n));
    with_temporary("segmented sort", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortPairs(
            temporary, bytes, ids.get(), other_ids.get(), keys.get(), other_keys.get(), entries,
            rows, begin, end, 0, bits, stream);
    });
    with_temporary("segmented sort", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortPairs(temporary, bytes, other_keys.get(),
                                                        keys.get(), other_ids.get(), ids.get(),
                                                        entries, rows, begin, end, 0, 64, stream);
    });
}

}  // namespace kith::gpu
