// The primitives of a warp and of a block, each in a kernel of one block, against the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "gpu/primitives/block_threshold.cuh"
#include "gpu/primitives/row_walk.cuh"
#include "gpu/primitives/sort/bitonic_lanes.cuh"
#include "gpu/primitives/sort/block_sort.cuh"
#include "gpu/primitives/sort/merge_part.cuh"
#include "gpu_arrays.h"

namespace {

using namespace kith::gpu;
using Entries = std::vector<Packed>;

// Runs kernel(data, more...) in one block of `threads`; returns what it leaves of `data`.
template <class T, class... More>
std::vector<T> run(void (*kernel)(T*, More...), int threads, const std::vector<T>& data, More... more) {
    const gpu_arrays::Buffer<T> there(data.size());
    gpu_arrays::check(cudaMemcpy(there.data(), data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    kernel<<<1, threads>>>(there.data(), more...);
    gpu_arrays::check(cudaGetLastError());
    gpu_arrays::check(cudaDeviceSynchronize());
    return there.host();
}

// Entries in many orders: random, of few values, ascending, descending, all alike, and with packed_end between others.
std::vector<Entries> orders(std::size_t count) {
    std::mt19937_64 random(count);
    Entries any(count), few(count), ends(count);
    for (std::size_t i = 0; i < count; ++i) {
        any[i] = random();
        few[i] = random() % 3 << 32;
        ends[i] = random() % 2 ? packed_end : any[i];
    }
    Entries ascending = any;
    std::sort(ascending.begin(), ascending.end());
    return {any, few, ends, ascending, Entries(ascending.rbegin(), ascending.rend()), Entries(count, any[0])};
}

Entries sorted(Entries entries) {
    std::sort(entries.begin(), entries.end());
    return entries;
}

// Sorts the first `count` entries, and leaves what lies behind.
Entries sorted_up_to(std::size_t count, Entries entries) {
    std::sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count));
    return entries;
}

// ---------------------------------------------------------------- sorts

template <int items>
__global__ void sort_thread_kernel(Packed* data) {
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::sort_thread(x);
    for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}

TEST(GpuPrimitives, SortThread) {
    constexpr int items = 16, threads = 64;
    for (const Entries& in : orders(items * threads)) {
        Entries want = in;
        for (auto first = want.begin(); first != want.end(); first += items) std::sort(first, first + items);
        ASSERT_EQ(want, run(sort_thread_kernel<items>, threads, in));
    }
}

// Consecutive layout: thread t holds the positions from t * items on; those past a span are not written.
template <int threads, int items>
__global__ void sort_block_kernel(Packed* data) {
    __shared__ Packed exchange[threads * items];
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::sort_block<threads>(x, exchange);
    for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}
template <int threads, int items>
__global__ void merge_block_kernel(Packed* data, int span) {
    __shared__ Packed exchange[threads * items];
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::merge_block<threads>(x, exchange, span);
    if (static_cast<int>(threadIdx.x) < span)
        for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}
template <int threads, int items>
__global__ void sort_alternating_kernel(Packed* data, int size) {
    __shared__ Packed exchange[threads * items];
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::sort_alternating<threads>(x, size, exchange);
    if (static_cast<int>(threadIdx.x) * items < size)
        for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}

template <int threads, int items>
void sort_and_merge_blocks() {
    for (const Entries& in : orders(threads * items)) {
        ASSERT_EQ(sorted(in), run(sort_block_kernel<threads, items>, threads, in));
        for (int span = 1; span <= threads; span *= 2) {
            const auto count = static_cast<std::size_t>(span * items);
            const Entries want = sorted_up_to(count, in);
            // Ascending, then descending: bitonic.
            Entries peak = want;
            std::reverse(peak.begin() + static_cast<std::ptrdiff_t>(count / 2),
                         peak.begin() + static_cast<std::ptrdiff_t>(count));
            ASSERT_EQ(want, run(merge_block_kernel<threads, items>, threads, peak, span)) << span;
            if (span == 1) continue;
            ASSERT_EQ(want, run(sort_alternating_kernel<threads, items>, threads, in, span * items)) << span;
        }
    }
}
TEST(GpuPrimitives, SortBlock) {
    sort_and_merge_blocks<32, 1>();
    sort_and_merge_blocks<128, 2>();
    sort_and_merge_blocks<64, 8>();
    sort_and_merge_blocks<512, 4>();
}

// The same within each group of `lanes` adjacent lanes.
template <int lanes, int items>
__global__ void sort_lanes_kernel(Packed* data) {
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::sort_lanes(x, lanes);
    for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}
template <int lanes, int items>
__global__ void merge_lanes_kernel(Packed* data) {
    Packed x[items];
    for (int i = 0; i < items; ++i) x[i] = data[threadIdx.x * items + i];
    bitonic::merge_lanes(x, lanes);
    for (int i = 0; i < items; ++i) data[threadIdx.x * items + i] = x[i];
}

template <int lanes, int items>
void sort_and_merge_lanes() {
    constexpr int threads = 96, group = lanes * items;
    for (const Entries& in : orders(threads * items)) {
        Entries want = in;
        for (auto first = want.begin(); first != want.end(); first += group) std::sort(first, first + group);
        ASSERT_EQ(want, run(sort_lanes_kernel<lanes, items>, threads, in));
        // Ascending, then descending: bitonic.
        Entries peaks = want;
        for (auto first = peaks.begin(); first != peaks.end(); first += group)
            std::reverse(first + group / 2, first + group);
        ASSERT_EQ(want, run(merge_lanes_kernel<lanes, items>, threads, peaks));
    }
}
TEST(GpuPrimitives, SortLanes) {
    sort_and_merge_lanes<1, 4>();
    sort_and_merge_lanes<4, 8>();
    sort_and_merge_lanes<8, 16>();
    sort_and_merge_lanes<32, 2>();
}

// Striped layout: lane l holds the positions l + 32 * j.
template <int rows>
__global__ void sort_striped_kernel(Packed* data) {
    Packed x[rows];
    for (int j = 0; j < rows; ++j) x[j] = data[threadIdx.x + 32 * j];
    bitonic::sort_striped(x);
    for (int j = 0; j < rows; ++j) data[threadIdx.x + 32 * j] = x[j];
}
template <int rows>
__global__ void merge_striped_kernel(Packed* data) {
    Packed x[rows];
    for (int j = 0; j < rows; ++j) x[j] = data[threadIdx.x + 32 * j];
    bitonic::merge_striped(x);
    for (int j = 0; j < rows; ++j) data[threadIdx.x + 32 * j] = x[j];
}

template <int... rows>
void sort_striped_rows() {
    const auto hold = [](auto* kernel, std::size_t count) {
        for (const Entries& in : orders(count)) ASSERT_EQ(sorted(in), run(kernel, 32, in)) << count;
    };
    (hold(sort_striped_kernel<rows>, 32 * rows), ...);
}
template <int... rows>
void merge_striped_rows() {
    const auto hold = [](auto* kernel, std::size_t count) {
        for (const Entries& in : orders(count)) {
            Entries peak = sorted(in);
            std::reverse(peak.begin() + static_cast<std::ptrdiff_t>(count / 2), peak.end());
            ASSERT_EQ(sorted(in), run(kernel, 32, peak)) << count;
        }
    };
    (hold(merge_striped_kernel<rows>, 32 * rows), ...);
}
TEST(GpuPrimitives, SortStriped) {
    sort_striped_rows<1, 2, 3, 4, 6, 8, 10>();
    merge_striped_rows<1, 2, 4, 8>();
}

constexpr int most_shared = 4096;

__global__ void layers_kernel(Packed* data, int size) {
    __shared__ Packed x[most_shared];
    for (int i = threadIdx.x; i < size; i += blockDim.x) x[i] = data[i];
    for (int run = 2; run <= size; run *= 2) {
        bitonic::layer_in_shared(x, size, run - 1, run / 2);
        for (int stride = run / 4; stride > 0; stride /= 2) bitonic::layer_in_shared(x, size, stride, stride);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) data[i] = x[i];
}
template <int threads>
__global__ void block_sort_kernel(Packed* data, int size) {
    __shared__ Packed x[most_shared];
    for (int i = threadIdx.x; i < size; i += threads) x[i] = data[i];
    block_sort<threads>(x, size);
    // In other hands than those that wrote it.
    for (int i = threadIdx.x; i < size; i += threads) data[i] = x[size - 1 - i];
}
TEST(GpuPrimitives, BlockSort) {
    for (int size = 2; size <= most_shared; size *= 2) {
        for (const Entries& in : orders(static_cast<std::size_t>(size))) {
            const Entries want = sorted(in), reversed(want.rbegin(), want.rend());
            ASSERT_EQ(reversed, run(block_sort_kernel<64>, 64, in, size)) << size;
            ASSERT_EQ(reversed, run(block_sort_kernel<512>, 512, in, size)) << size;
            ASSERT_EQ(want, run(layers_kernel, 128, in, size)) << size;
        }
    }
}

// Runs that lie ascending and descending in turn, merged without a sort before.
template <int threads>
__global__ void merge_runs_kernel(Packed* data, int size, int run) {
    __shared__ Packed x[most_shared];
    for (int i = threadIdx.x; i < size; i += threads) x[i] = data[i];
    __syncthreads();
    bitonic::merge_runs<threads>(size, run, [&](int i, int j, bool ascending) {
        if ((x[j] < x[i]) != ascending) return;
        const Packed larger = x[i];
        x[i] = x[j];
        x[j] = larger;
    });
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += threads) data[i] = x[i];
}
TEST(GpuPrimitives, MergeRuns) {
    constexpr int size = 1024;
    for (int length = 2; length <= size; length *= 2) {
        for (const Entries& in : orders(size)) {
            Entries bitonic_runs = in, want = in;
            for (int first = 0; first < size; first += length) {
                const auto begin = bitonic_runs.begin() + first, middle = begin + length / 2;
                std::sort(begin, middle);
                std::sort(middle, begin + length, std::greater<>());
                std::sort(want.begin() + first, want.begin() + first + length);
                if (first / length % 2) std::reverse(want.begin() + first, want.begin() + first + length);
            }
            ASSERT_EQ(want, run(merge_runs_kernel<128>, 128, bitonic_runs, size, length)) << length;
        }
    }
}

// `data` has room for 16 * block entries, and comes back whole.
template <int block>
__global__ void in_registers_kernel(Packed* data, int count) {
    __shared__ Packed x[16 * block];
    for (int i = threadIdx.x; i < count; i += block) x[i] = data[i];
    block_sort_in_registers<block>(x, count);
    int size = 64;
    while (size < count) size *= 2;
    for (int i = threadIdx.x; i < size; i += block) data[i] = x[i];
}
template <int block>
void sort_in_registers() {
    for (const int count : {1, 2, 31, 64, 65, 127, 128, 129, 200, 256, 257, 500, 513, 900, 1024}) {
        if (count > 16 * block) continue;
        std::size_t size = 64;
        while (size < static_cast<std::size_t>(count)) size *= 2;
        for (Entries in : orders(static_cast<std::size_t>(count))) {
            in.resize(16 * block);
            Entries want = sorted_up_to(static_cast<std::size_t>(count), in);
            std::fill(want.begin() + count, want.begin() + static_cast<std::ptrdiff_t>(size), packed_end);
            ASSERT_EQ(want, run(in_registers_kernel<block>, block, in, count)) << count << ", block " << block;
        }
    }
}
TEST(GpuPrimitives, BlockSortInRegisters) {
    sort_in_registers<32>();
    sort_in_registers<64>();
    sort_in_registers<256>();
}

// The first k of data come back in order; or all as they were, and packed_end behind, where an interval holds too many.
template <int block>
__global__ void by_intervals_kernel(Packed* data, int count, int k, std::uint32_t low, std::uint32_t high) {
    __shared__ Packed x[8 * block], room[8 * block + 20];
    __shared__ alignas(16) std::uint32_t counts[8 * block + 4];
    __shared__ std::uint32_t sums[block / 32];
    for (int i = threadIdx.x; i < count; i += block) x[i] = data[i];
    __syncthreads();
    const bool sorted = sort_by_intervals<block, 8 * block, 20>(x, count, k, low, high, counts, sums, room);
    for (int i = threadIdx.x; i < (sorted ? k : count); i += block) data[i] = x[i];
    if (threadIdx.x == 0) data[count] = sorted ? 0 : packed_end;
}
template <int block>
void sort_intervals() {
    std::mt19937_64 random(block);
    for (const int count : {1, 2, 31, 64, 65, 129, 3 * block, 8 * block - 1, 8 * block}) {
        for (const std::uint32_t span : {0u, 1u, 20u, 8191u, 100000u, 0xffffffffu}) {
            for (const bool crowded : {false, true}) {
                const std::uint32_t low = span == 0xffffffffu ? 0 : 0x7ffffff0u, high = low + span;
                Entries in(static_cast<std::size_t>(count) + 1);
                std::map<std::uint32_t, int> sizes;
                int shift = 0, most = 0;
                while (span >> shift >= 8u * block) ++shift;
                for (std::size_t i = 0; i + 1 < in.size(); ++i) {
                    const std::uint64_t within = random() % (std::uint64_t{span} + 1);
                    const auto key = static_cast<std::uint32_t>(crowded ? within / 4096 : within);
                    in[i] = Packed{low + key} << 32 | static_cast<std::uint32_t>(i * 2654435761u);
                    most = std::max(most, ++sizes[key >> shift]);
                }
                for (const int k : {1, count / 3 + 1, count}) {
                    Entries want = in, got = run(by_intervals_kernel<block>, block, in, count, k, low, high);
                    if (most > 20) {
                        want.back() = packed_end;
                    } else {
                        want = sorted_up_to(static_cast<std::size_t>(count), in);
                        want.resize(static_cast<std::size_t>(k));
                        EXPECT_EQ(0u, got.back());
                        got.resize(want.size());
                    }
                    ASSERT_EQ(want, got) << count << ", span " << span << ", k " << k;
                }
            }
        }
    }
}
TEST(GpuPrimitives, SortByIntervals) {
    sort_intervals<32>();
    sort_intervals<128>();
    sort_intervals<256>();
}

// ---------------------------------------------------------------- order statistics

constexpr int ranked_block = 128;

// Thread t holds the entries t + block * i. data[0] becomes the threshold.
template <int mine>
__global__ void threshold_kernel(Packed* data, int rank, int slack) {
    __shared__ std::uint32_t sums[ranked_block / 16];
    Packed x[mine];
    for (int i = 0; i < mine; ++i) x[i] = data[threadIdx.x + i * ranked_block];
    __syncthreads();
    const Packed threshold = sampling::threshold_of<ranked_block>(x, rank, slack, sums);
    if (threadIdx.x == 0) data[0] = threshold;
}
// The same of words alone, of which the largest are no entries.
template <int block, bool near, int mine>
__global__ void words_kernel(Packed* data, int rank, int slack) {
    __shared__ std::uint32_t sums[block / 16];
    std::uint32_t x[mine];
    for (int i = 0; i < mine; ++i) x[i] = static_cast<std::uint32_t>(data[threadIdx.x + i * block] >> 32);
    __syncthreads();
    int in_all = 0;
    const std::uint32_t threshold =
        sampling::word_threshold<block, near>(x, rank, slack, sums, in_all, [](std::uint32_t word) { return word; });
    if (threadIdx.x == 0) data[0] = threshold;
}
template <int block, bool near, int mine>
void word_thresholds() {
    constexpr int count = block * mine;
    for (Entries in : orders(count)) {
        for (const int missing : {0, count / 3, count - 2}) {
            for (int i = 0; i < missing; ++i) in[static_cast<std::size_t>(count - 1 - i)] = ~Packed{0};
            for (const int rank : {1, 2, count / 3, count - 1, count}) {
                for (const int slack : {0, 3, count / 16}) {
                    const Packed threshold = run(words_kernel<block, near, mine>, block, in, rank, slack)[0];
                    std::vector<Packed> words;
                    for (const Packed p : in) words.push_back(p >> 32);
                    std::sort(words.begin(), words.end());
                    const auto up_to = [&](Packed word) {
                        return std::upper_bound(words.begin(), words.end(), word) - words.begin();
                    };
                    // It is a word; as many as there are of the rank's own may be more than the slack.
                    EXPECT_TRUE(std::binary_search(words.begin(), words.end(), threshold));
                    EXPECT_LE(rank, up_to(threshold)) << "slack " << slack;
                    EXPECT_GE(std::max<std::ptrdiff_t>(rank + slack, up_to(words[static_cast<std::size_t>(rank - 1)])),
                              up_to(threshold))
                        << "rank " << rank << ", missing " << missing;
                }
            }
        }
    }
}

template <int mine>
void thresholds() {
    constexpr int count = ranked_block * mine;
    for (Entries in : orders(count)) {
        // Distinct, with many equal keys where there were equal entries.
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = in[i] >> 32 << 32 | i;
        for (const int rank : {1, 2, count / 3, count - 1, count}) {
            for (const int slack : {0, 3, count / 16}) {
                const Packed threshold = run(threshold_kernel<mine>, ranked_block, in, rank, slack)[0];
                const auto within = std::count_if(in.begin(), in.end(), [&](Packed p) { return p <= threshold; });
                EXPECT_LE(rank, within) << "slack " << slack;
                EXPECT_GE(rank + slack, within) << "rank " << rank;
            }
        }
    }
}
TEST(GpuPrimitives, Thresholds) {
    thresholds<1>();
    thresholds<4>();
    thresholds<9>();  // two pivots a round
}
TEST(GpuPrimitives, WordThresholds) {
    word_thresholds<32, false, 1>();
    word_thresholds<32, false, 16>();
    word_thresholds<64, false, 16>();
    word_thresholds<64, true, 4>();
    word_thresholds<128, true, 1>();
    word_thresholds<128, true, 9>();
}

// data[0] becomes the word, data[1] how many entries have one up to it.
__global__ void word_kernel(std::uint32_t* data, int rank, int slack) {
    __shared__ std::uint32_t sums[ranked_block / 16];
    std::uint32_t x[2];
    for (int i = 0; i < 2; ++i) x[i] = data[threadIdx.x + i * ranked_block];
    __syncthreads();
    int in_all = 0;
    const std::uint32_t word =
        sampling::word_threshold<ranked_block>(x, rank, slack, sums, in_all, [](std::uint32_t w) { return w; });
    if (threadIdx.x == 0) {
        data[0] = word;
        data[1] = static_cast<std::uint32_t>(in_all);
    }
}
TEST(GpuPrimitives, WordThresholdsOfEqualWords) {
    std::mt19937 random(1);
    std::vector<std::uint32_t> words(2 * ranked_block);
    for (std::uint32_t& w : words) w = random() % 5 * 0x30000000u;
    for (int rank = 1; rank <= 2 * ranked_block; rank += 15) {
        const auto got = run(word_kernel, ranked_block, words, rank, 0);
        std::vector<std::uint32_t> in_order = words;
        std::sort(in_order.begin(), in_order.end());
        const std::uint32_t want = in_order[static_cast<std::size_t>(rank - 1)];
        EXPECT_EQ(want, got[0]) << rank;
        EXPECT_EQ(std::count_if(words.begin(), words.end(), [&](std::uint32_t w) { return w <= want; }),
                  static_cast<std::ptrdiff_t>(got[1]))
            << rank;
    }
}

// Leaves `data[count]` = how many, and those in front.
__global__ void shrink_kernel(Packed* data, int count, int k) {
    __shared__ Packed x[8 * ranked_block];
    __shared__ std::uint32_t sums[ranked_block / 16];
    __shared__ int room;
    for (int i = threadIdx.x; i < count; i += ranked_block) x[i] = data[i];
    const int left = sampling::shrink<ranked_block, 8>(x, count, k, sums, &room);
    for (int i = threadIdx.x; i < left; i += ranked_block) data[i] = x[i];
    if (threadIdx.x == 0) data[count] = static_cast<Packed>(left);
}
TEST(GpuPrimitives, Shrink) {
    for (const int count : {20, 300, 1000, 1024}) {
        for (const int k : {1, 10, 100, 700}) {
            if (k > count) continue;
            for (Entries in : orders(static_cast<std::size_t>(count))) {
                for (std::size_t i = 0; i < in.size(); ++i) in[i] = in[i] >> 32 << 32 | i;
                const Entries want = sorted(in);
                in.push_back(0);
                Entries got = run(shrink_kernel, ranked_block, in, count, k);
                const auto left = static_cast<int>(got.back());
                ASSERT_LE(k, left);
                ASSERT_GE(std::min(count, sampling::sorted_size(k)), left);
                got.resize(static_cast<std::size_t>(left));
                ASSERT_EQ(Entries(want.begin(), want.begin() + left), sorted(got)) << "of " << count << ", k " << k;
            }
        }
    }
}

// ---------------------------------------------------------------- steps of a block

// data[t] becomes the sum of those before it; data[threads] the sum of all.
template <int threads>
__global__ void prefix_kernel(std::uint32_t* data) {
    __shared__ std::uint32_t warp_sums[threads / 32];
    std::uint32_t total = 0;
    const std::uint32_t before = block_prefix<threads>(data[threadIdx.x], warp_sums, total);
    data[threadIdx.x] = before;
    if (threadIdx.x == threads - 1) data[threads] = total;
}
template <int threads>
void prefixes() {
    std::mt19937 random(threads);
    std::vector<std::uint32_t> in(threads + 1), want(threads + 1);
    for (std::uint32_t& x : in) x = random() % 1000;
    std::exclusive_scan(in.begin(), in.end(), want.begin(), 0u);
    EXPECT_EQ(want, run(prefix_kernel<threads>, threads, in));
}
TEST(GpuPrimitives, BlockPrefix) {
    prefixes<32>();
    prefixes<256>();
    prefixes<1024>();
}

// Thread t has the entries from t * entries on. The odd ones go to the front of `data`, in any order; data[count] says
// how many.
template <int entries>
__global__ void append_kernel(std::uint32_t* data, int count) {
    __shared__ std::uint32_t kept;
    if (threadIdx.x == 0) kept = 0;
    std::uint32_t x[entries];
    unsigned mask = 0;
    for (int j = 0; j < entries; ++j) {
        x[j] = data[threadIdx.x * entries + j];
        mask |= x[j] % 2 << j;
    }
    __syncthreads();
    append(mask, x, &kept, [&](std::uint32_t place, std::uint32_t entry) { data[place] = entry; });
    __syncthreads();
    if (threadIdx.x == 0) data[count] = kept;
}
template <int entries>
void appends() {
    constexpr int threads = 96, count = threads * entries;
    std::mt19937 random(entries);
    for (const unsigned odd : {0u, 1u, 10u, 100u}) {  // per cent
        std::vector<std::uint32_t> in(count + 1);
        for (std::uint32_t& x : in) x = random() / 2 * 2 + (random() % 100 < odd);
        std::vector<std::uint32_t> want;
        for (int i = 0; i < count; ++i)
            if (in[static_cast<std::size_t>(i)] % 2) want.push_back(in[static_cast<std::size_t>(i)]);
        auto got = run(append_kernel<entries>, threads, in, count);
        ASSERT_EQ(want.size(), got.back());
        got.resize(want.size());
        std::sort(want.begin(), want.end());
        std::sort(got.begin(), got.end());
        EXPECT_EQ(want, got);
    }
}
TEST(GpuPrimitives, Append) {
    appends<1>();
    appends<4>();
}

// `data`: two sorted lists, then room for their merge. A thread takes `each` places of it.
__global__ void merge_kernel(Packed* data, int a, int b, int each) {
    Packed* const merged = data + a + b;
    Tally tally;
    const int first = min(static_cast<int>(threadIdx.x) * each, a + b), last = min(first + each, a + b);
    merge_part(data, a, data + a, b, first, last, tally, [&](int j, Packed p) { merged[j] = p; });
}
TEST(GpuPrimitives, MergePart) {
    for (const auto& [a, b] : {std::pair{40, 40}, {1, 79}, {80, 0}, {33, 7}, {0, 5}}) {
        for (const Entries& in : orders(static_cast<std::size_t>(a + b))) {
            Entries data = in;
            std::sort(data.begin(), data.begin() + a);
            std::sort(data.begin() + a, data.end());
            data.resize(2 * in.size());
            for (const int each : {3, 8}) {
                const Entries got = run(merge_kernel, 32, data, a, b, each);
                ASSERT_EQ(sorted(in), Entries(got.begin() + a + b, got.end())) << a << " and " << b;
            }
        }
    }
}

// ---------------------------------------------------------------- walks

constexpr int walkers = 64;

// Every entry of `n` values from `values` on goes to data, in any order; data[n] becomes their number.
__global__ void walk_row_kernel(Packed* data, const float* values, std::uint32_t n, bool largest) {
    __shared__ std::uint32_t count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const RowWalk<walkers> row{values, n, largest};
    row.walk([&](const Packed(&entries)[4], unsigned valid) {
        append(valid, entries, &count, [&](std::uint32_t j, Packed p) { data[j] = p; });
    });
    __syncthreads();
    if (threadIdx.x == 0) data[n] = count;
}
TEST(GpuPrimitives, RowWalk) {
    std::mt19937 random(3);
    std::vector<float> values(2100);
    for (float& v : values) v = static_cast<float>(random() % 1000) - 500.0f;
    const gpu_arrays::Buffer<float> there(values.size());
    gpu_arrays::check(cudaMemcpy(there.data(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 63u, 511u, 512u, 513u, 2048u}) {
        for (std::uint32_t skew = 0; skew < 4; ++skew) {
            const bool largest = skew % 2;
            Entries want;
            for (std::uint32_t i = 0; i < n; ++i)
                want.push_back(Packed{kith::exact::Order<float>::key(values[skew + i], largest)} << 32 | i);
            Entries got = run(walk_row_kernel, walkers, Entries(n + 1), static_cast<const float*>(there.data() + skew),
                              n, largest);
            ASSERT_EQ(n, got.back()) << "skew " << skew;
            got.pop_back();
            ASSERT_EQ(sorted(want), sorted(got)) << n << ", skew " << skew;
        }
    }
}

// The even entries to the front of the list that is walked; data[n] becomes their number.
__global__ void walk_list_kernel(Packed* data, std::uint32_t n) {
    __shared__ std::uint32_t count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const ListWalk<walkers, Packed, true> list{data, n};
    list.walk([&](const Packed(&entries)[4], unsigned valid) {
        unsigned even = 0;
        for (int j = 0; j < 4; ++j)
            if (entries[j] % 2 == 0) even |= valid & 1u << j;
        append(even, entries, &count, [&](std::uint32_t j, Packed p) { data[j] = p; });
    });
    __syncthreads();
    if (threadIdx.x == 0) data[n] = count;
}
TEST(GpuPrimitives, ListWalkInPlace) {
    for (const std::uint32_t n : {1u, 31u, 256u, 257u, 1500u}) {
        Entries in = orders(n).front();
        Entries want;
        std::copy_if(in.begin(), in.end(), std::back_inserter(want), [](Packed p) { return p % 2 == 0; });
        in.push_back(0);
        Entries got = run(walk_list_kernel, walkers, in, n);
        ASSERT_EQ(want.size(), got.back()) << n;
        got.resize(want.size());
        ASSERT_EQ(sorted(want), sorted(got)) << n;
    }
}

}  // namespace
