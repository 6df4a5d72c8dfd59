// Rows are sorted by a hash of their bits, and each is compared with the one before it: a hash that
// two different rows share makes runs of equal rows shorter, never wrong.
#include "gpu/points/repeats.h"

#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

struct Largest {
    KITH_HD std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return a > b ? a : b;
    }
};

__device__ __forceinline__ std::uint64_t mixed(
    std::uint64_t x) {  // the finaliser of splitmix64 (Steele 2014)
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

__device__ __forceinline__ std::uint64_t bits_at(const Rows& rows, std::int64_t row,
                                                 std::int64_t i) {
    return static_cast<std::uint64_t>(__double_as_longlong(rows.at(row, i)));
}

// A warp owns a row.
__global__ void hash_rows_kernel(Rows rows, std::int64_t d, std::uint64_t* hashes,
                                 std::uint32_t* ids) {
    const std::int64_t row =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= rows.count) return;
    std::uint64_t sum = 0;
    for (std::int64_t i = threadIdx.x % 32; i < d; i += 32)
        sum += mixed(bits_at(rows, row, i) +
                     static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ULL);
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 != 0) return;
    hashes[row] = sum;
    ids[row] = static_cast<std::uint32_t>(row);
}

// Places in the order of the hashes: starts[p] = p where another row begins, 0 where row p equals
// the one before. A warp owns a place.
__global__ void starts_kernel(Rows rows, std::int64_t d, const std::uint64_t* hashes,
                              const std::uint32_t* ids, std::uint32_t* starts) {
    const std::int64_t place =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (place >= rows.count) return;
    bool equal = place > 0 && hashes[place] == hashes[place - 1];
    for (std::int64_t i = threadIdx.x % 32; equal && i < d; i += 32)
        equal = bits_at(rows, ids[place], i) == bits_at(rows, ids[place - 1], i);
    equal = __all_sync(0xffffffffu, equal);
    if (threadIdx.x % 32 == 0) starts[place] = equal ? 0 : static_cast<std::uint32_t>(place);
}

__global__ void earlier_kernel(const std::uint32_t* ids, const std::uint32_t* starts,
                               std::int64_t count, std::uint32_t* earlier, std::uint32_t* most) {
    const std::int64_t place = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (place >= count) return;
    const auto before = static_cast<std::uint32_t>(place) - starts[place];
    earlier[ids[place]] = before;
    if (before > *most) atomicMax(most, before);
}

__global__ void drop_repeats_kernel(FilterForm form, const std::uint32_t* earlier,
                                    const float* half_norm, std::int64_t n, std::int64_t wanted,
                                    float* out) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= whole_tiles(n)) return;
    const bool repeated = at < n && earlier[row_at(form, at, n)] >= wanted;
    out[at] = repeated ? __int_as_float(0x7f800000) : half_norm[at];
}

}  // namespace

Repeats count_repeats(const Rows& rows, std::int64_t d, cudaStream_t stream) {
    const std::int64_t n = rows.count;
    Buffer<std::uint64_t> hashes(n, stream), sorted(n, stream);
    Buffer<std::uint32_t> ids(n, stream), sorted_ids(n, stream), starts(n, stream), most(1, stream);
    Repeats out{Buffer<std::uint32_t>(n, stream)};
    most.clear_to(0);
    hash_rows_kernel<<<blocks_for(n, item_warps), item_threads, 0, stream>>>(rows, d, hashes.get(),
                                                                             ids.get());
    check_launch("hash_rows");
    with_temporary("sort of hashes", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, hashes.get(), sorted.get(),
                                               ids.get(), sorted_ids.get(), n, 0, 64, stream);
    });
    starts_kernel<<<blocks_for(n, item_warps), item_threads, 0, stream>>>(
        rows, d, sorted.get(), sorted_ids.get(), starts.get());
    check_launch("starts");
    with_temporary("scan of equal rows", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveScan(temporary, bytes, starts.get(), starts.get(),
                                              Largest{}, n, stream);
    });
    earlier_kernel<<<item_blocks(n), item_threads, 0, stream>>>(sorted_ids.get(), starts.get(), n,
                                                                out.earlier.get(), most.get());
    check_launch("earlier");
    std::uint32_t found = 0;
    InFlight copy(stream);
    check(cudaMemcpyAsync(&found, most.get(), sizeof found, cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("looking for equal rows");
    out.most = found;
    if (!out.many()) out.earlier = {};
    return out;
}

void drop_repeats(const Repeats& repeats, const FilterVectors& filter, std::int64_t n,
                  std::int64_t wanted, float* out, cudaStream_t stream) {
    drop_repeats_kernel<<<item_blocks(whole_tiles(n)), item_threads, 0, stream>>>(
        filter.form, repeats.earlier.get(), filter.half_norm.get(), n, wanted, out);
    check_launch("drop_repeats");
}

}  // namespace kith::gpu
