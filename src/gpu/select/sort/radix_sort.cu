// Radix sort of everything, the baselines of Hanak 2023, 5.5: variant 0 sorts all rows by one
// segmented sort of CUB, a block to a row; variant 1 each row by a sort of its own that the whole
// device shares, over eight streams.
//
// Pairs of a 32-bit key and an index: the sort is stable, so that equal keys keep the order of
// their indices and ties cost nothing. The kernels here only write keys and read results: a thread
// owns an element, a warp adjacent ones.
#include <algorithm>
#include <array>
#include <vector>

#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/runtime/handles.h"
#include "gpu/runtime/launch.h"
#include "gpu/select/result.cuh"

namespace kith::gpu {

namespace {

constexpr std::int64_t most_streams = 8;  // as in the thesis

using Key = std::uint32_t;

__global__ void keys_kernel(const float* values, std::int64_t stride, std::int64_t rows,
                            std::int64_t n, bool largest, Key* keys, std::uint32_t* indices) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * n) return;
    const std::int64_t row = cell / n, i = cell % n;
    keys[cell] = exact::Order<float>::key(values[row * stride + i], largest);
    indices[cell] = static_cast<std::uint32_t>(i);
}

// The first k of `rows` sorted rows, the result's rows from first_row on.
__global__ void first_kernel(const Key* keys, const std::uint32_t* indices, std::int64_t first_row,
                             std::int64_t rows, std::int64_t n, SelectOut out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * out.k) return;
    const std::int64_t row = cell / out.k, j = cell % out.k;
    out.put(first_row + row, j,
            static_cast<Packed>(keys[row * n + j]) << 32 | indices[row * n + j]);
}

// Keys and indices of some cells, with the second copy that the sort wants.
struct Pairs {
    Buffer<Key> keys, other_keys;
    Buffer<std::uint32_t> indices, other_indices;

    Pairs() = default;
    Pairs(std::int64_t cells, cudaStream_t stream)
        : keys(cells, stream),
          other_keys(cells, stream),
          indices(cells, stream),
          other_indices(cells, stream) {}
};

void write_keys(const SelectJob& job, std::int64_t row, std::int64_t rows, const Pairs& to,
                cudaStream_t stream) {
    keys_kernel<<<item_blocks(rows * job.n), item_threads, 0, stream>>>(
        job.f32() + row * job.stride, job.stride, rows, job.n, job.largest, to.keys.get(),
        to.indices.get());
    check_launch("keys_kernel");
}

void put_first(const SelectJob& job, std::int64_t row, std::int64_t rows, const Key* keys,
               const std::uint32_t* indices, cudaStream_t stream) {
    first_kernel<<<item_blocks(rows * job.k), item_threads, 0, stream>>>(
        keys, indices, row, rows, job.n, out_of(job, SelectLayout::by_row));
    check_launch("first_kernel");
}

void segmented(const SelectJob& job) {
    const std::int64_t cells = job.rows * job.n;
    const Pairs pairs(cells, job.stream);
    const RowSegments segments = row_segments(nullptr, 0, job.rows, job.n, job.n, job.stream);
    write_keys(job, 0, job.rows, pairs, job.stream);
    cub::DoubleBuffer<Key> keys(pairs.keys.get(), pairs.other_keys.get());
    cub::DoubleBuffer<std::uint32_t> indices(pairs.indices.get(), pairs.other_indices.get());
    with_temporary("segmented sort", job.stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortPairs(temporary, bytes, keys, indices, cells,
                                                        job.rows, segments.begin.get(),
                                                        segments.end.get(), 0, 32, job.stream);
    });
    put_first(job, 0, job.rows, keys.Current(), indices.Current(), job.stream);
}

// Streams that start after what `trunk` holds and that `trunk` waits for at the end of the scope,
// by events; the host never waits.
class Fork {
public:
    Fork(std::int64_t count, cudaStream_t trunk) : trunk_(trunk), event_(make_event()) {
        check(cudaEventRecord(event_.get(), trunk_), "cudaEventRecord");
        for (std::int64_t i = 0; i < count; ++i) {
            streams_.push_back(make_stream());
            check(cudaStreamWaitEvent(operator[](i), event_.get()), "cudaStreamWaitEvent");
        }
    }
    ~Fork() {
        for (const Stream& stream : streams_) {
            const bool joined = cudaEventRecord(event_.get(), stream.get()) == cudaSuccess &&
                                cudaStreamWaitEvent(trunk_, event_.get()) == cudaSuccess;
            if (!joined) InFlight(stream.get()).settle();
        }
    }
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    cudaStream_t operator[](std::int64_t i) const {
        return streams_[static_cast<std::size_t>(i)].get();
    }

private:
    cudaStream_t trunk_;
    Event event_;
    std::vector<Stream> streams_;  // destroyed at once, which takes effect when their work is done
};

void over_streams(const SelectJob& job) {
    const std::int64_t count = std::min(most_streams, job.rows);
    const auto sort = [&](void* temporary, std::size_t& bytes, cub::DoubleBuffer<Key>& keys,
                          cub::DoubleBuffer<std::uint32_t>& indices, cudaStream_t stream) {
        check(
            cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, indices, job.n, 0, 32, stream),
            "radix sort");
    };
    std::size_t bytes = 0;
    cub::DoubleBuffer<Key> no_keys;
    cub::DoubleBuffer<std::uint32_t> no_indices;
    sort(nullptr, bytes, no_keys, no_indices, job.stream);
    const auto each = (static_cast<std::int64_t>(bytes) + 255) / 256 * 256;
    std::array<Pairs, most_streams> pairs;
    for (std::int64_t i = 0; i < count; ++i)
        pairs[static_cast<std::size_t>(i)] = Pairs(job.n, job.stream);
    const Buffer<char> temporary(count * each, job.stream);
    const auto sort_row = [&](std::int64_t row, std::int64_t i, cudaStream_t stream) {
        const Pairs& own = pairs[static_cast<std::size_t>(i)];
        write_keys(job, row, 1, own, stream);
        cub::DoubleBuffer<Key> keys(own.keys.get(), own.other_keys.get());
        cub::DoubleBuffer<std::uint32_t> indices(own.indices.get(), own.other_indices.get());
        sort(temporary.get() + i * each, bytes, keys, indices, stream);
        put_first(job, row, 1, keys.Current(), indices.Current(), stream);
    };
    // Making streams takes as long as sorting a short row.
    if (job.rows == 1) return sort_row(0, 0, job.stream);
    // The buffers outlive the fork: they are freed in the order of job.stream, behind its wait for
    // the others.
    const Fork streams(count, job.stream);
    for (std::int64_t row = 0; row < job.rows; ++row)
        sort_row(row, row % count, streams[row % count]);
}

}  // namespace

void radix_sort(const SelectJob& job, int variant) {
    if (variant == 0) segmented(job);
    else over_streams(job);
}

}  // namespace kith::gpu
