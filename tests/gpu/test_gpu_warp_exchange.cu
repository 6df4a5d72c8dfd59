// Candidates that a warp exchanges by way of shared memory are those that each lane finds in its own values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/filter/warp_exchange.cuh"
#include "gpu_arrays.h"

namespace {

using namespace kith::gpu;

constexpr int lanes = 32, values = 64, group_values = 16;
constexpr std::int64_t capacity = lanes * values;

// Negative values pass. A candidate says whose lane's it is: that is its query, its point the place in the lane, its a
// the value.
struct Rows {
    std::uint32_t lane;

    __device__ Rows of(unsigned other, unsigned) const { return {__shfl_sync(0xffffffffu, lane, other)}; }
    __device__ std::uint32_t sixteen(const int (&v)[values], int first) const {
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < group_values; ++i)
            if (v[first + i] < 0) mask |= 1u << i;
        return mask;
    }
    __device__ unsigned passing(const int4& four, unsigned) const {
        return (four.x < 0 ? 1u : 0u) | (four.y < 0 ? 2u : 0u) | (four.z < 0 ? 4u : 0u) | (four.w < 0 ? 8u : 0u);
    }
    __device__ void entry(int value, unsigned i, Candidate& entry, std::uint32_t& query) const {
        entry = {__int_as_float(value), i};
        query = lane;
    }
};

// One warp, tile after tile.
__global__ void append_kernel(const int* tiles, int count, int list_room, int exchange_room, FilterPass pass) {
    __shared__ Candidate entries[WarpList::most_room];
    __shared__ std::uint32_t queries[WarpList::most_room];
    __shared__ int4 memory[(WarpExchange::bytes(WarpExchange::most_room) + sizeof(int4) - 1) / sizeof(int4)];
    WarpList list{entries, queries, list_room};
    const WarpExchange exchange(reinterpret_cast<char*>(memory), exchange_room);
    const Rows rows{threadIdx.x};
    for (int tile = 0; tile < count; ++tile) {
        int v[values];
        unsigned hit = 0;
#pragma unroll
        for (int i = 0; i < values; ++i) {
            v[i] = tiles[(tile * lanes + static_cast<int>(threadIdx.x)) * values + i];
            if (v[i] < 0) hit |= 1u << i / group_values;
        }
        const unsigned holding = __ballot_sync(0xffffffffu, hit != 0);
        if (holding != 0) append_exchanged(v, hit, holding, exchange, list, pass, rows);
    }
    list.flush(pass);
}

// (lane, place, value), every one of which is another.
using Found = std::multiset<std::tuple<int, int, int>>;

class Tiles {
public:
    // No value passes.
    int add() {
        for (int i = 0; i < lanes * values; ++i) all_.push_back(next_++);
        return count_++;
    }
    void let_pass(int tile, int lane, int place) {
        int& value = all_[static_cast<std::size_t>((tile * lanes + lane) * values + place)];
        if (value >= 0) value -= 1 << 30;
    }
    void expect_all(int list_room, int exchange_room, const std::string& what) const {
        Found want;
        for (int i = 0; i < static_cast<int>(all_.size()); ++i)
            if (const int value = all_[static_cast<std::size_t>(i)]; value < 0)
                want.emplace(i / values % lanes, i % values, value);
        const gpu_arrays::Buffer<int> tiles(all_.size());
        const gpu_arrays::Buffer<Candidate> found(static_cast<std::size_t>(lanes * capacity));
        const gpu_arrays::Buffer<std::int32_t> counts(lanes);
        gpu_arrays::check(cudaMemcpy(tiles.data(), all_.data(), all_.size() * sizeof(int), cudaMemcpyHostToDevice));
        gpu_arrays::check(cudaMemset(counts.data(), 0, lanes * sizeof(std::int32_t)));
        FilterPass pass;
        pass.candidates = found.data();
        pass.counts = counts.data();
        pass.capacity = capacity;
        append_kernel<<<1, lanes>>>(tiles.data(), count_, list_room, exchange_room, pass);
        gpu_arrays::check(cudaGetLastError());
        gpu_arrays::check(cudaDeviceSynchronize());
        Found got;
        const std::vector<Candidate> entries = found.host();
        const std::vector<std::int32_t> lengths = counts.host();
        for (int lane = 0; lane < lanes; ++lane)
            for (int i = 0; i < std::min<int>(lengths[static_cast<std::size_t>(lane)], capacity); ++i) {
                const Candidate& entry = entries[static_cast<std::size_t>(lane * capacity + i)];
                int value = 0;
                std::copy_n(reinterpret_cast<const char*>(&entry.a), sizeof(value), reinterpret_cast<char*>(&value));
                got.emplace(lane, static_cast<int>(entry.point), value);
            }
        EXPECT_TRUE(want == got) << what << ": " << want.size() << " candidates, found " << got.size();
    }

private:
    std::vector<int> all_;
    int count_ = 0, next_ = 1;
};

// With room for eight groups, for fewer, and for none; lists that are flushed seldom and often.
void expect_all(const Tiles& tiles, const std::string& what) {
    for (const int exchange_room : {WarpExchange::most_room, 3, 0})
        for (const int list_room : {WarpList::most_room, 80, 32})
            tiles.expect_all(
                list_room, exchange_room,
                what + ", room for " + std::to_string(exchange_room) + " and " + std::to_string(list_room));
}

// Every number of groups of one lane, which exchanges nothing, and every value of each.
TEST(WarpExchange, OfOneLane) {
    for (const int lane : {0, 5, 31})
        for (unsigned groups = 1; groups < 16; ++groups)
            for (int place = 0; place < group_values; ++place) {
                Tiles tiles;
                tiles.add();
                for (int group = 0; group < 4; ++group)
                    if (groups >> group & 1u) tiles.let_pass(0, lane, group * group_values + place);
                tiles.expect_all(80, WarpExchange::most_room, "lane " + std::to_string(lane));
            }
}

// Two lanes with any groups each: the same one alone, which is not exchanged, or others.
TEST(WarpExchange, OfTwoLanes) {
    for (unsigned first = 1; first < 16; ++first)
        for (unsigned second = 1; second < 16; ++second) {
            Tiles tiles;
            tiles.add();
            for (int group = 0; group < 4; ++group) {
                if (first >> group & 1u) tiles.let_pass(0, 3, group * group_values + 7);
                if (second >> group & 1u) tiles.let_pass(0, 30, group * group_values + 12);
            }
            tiles.expect_all(80, WarpExchange::most_room, std::to_string(first) + ", " + std::to_string(second));
        }
}

// As many groups as have room, one fewer and more, with one value each and with all.
TEST(WarpExchange, OfAsManyGroupsAsHaveRoom) {
    for (int groups = 1; groups <= 12; ++groups)
        for (const int passing : {1, 5, group_values}) {
            Tiles tiles;
            for (int tile = 0; tile < 3; ++tile) {
                tiles.add();
                for (int i = 0; i < groups; ++i)
                    for (int j = 0; j < passing; ++j)
                        tiles.let_pass(tile, (i * 11 + tile) % lanes,
                                       i % 4 * group_values + (i + 3 * j) % group_values);
            }
            expect_all(tiles, std::to_string(groups) + " groups of " + std::to_string(passing));
        }
}

// Tile after tile, from few to nearly all values: what earlier tiles left in the memory is not looked at again.
TEST(WarpExchange, OfManyTiles) {
    std::mt19937 random(7);
    for (const double share : {0.0003, 0.001, 0.003, 0.006, 0.02, 0.3}) {
        Tiles tiles;
        for (int tile = 0; tile < 12; ++tile) {
            tiles.add();
            for (int i = 0; i < lanes * values; ++i)
                if (std::uniform_real_distribution<double>()(random) < share)
                    tiles.let_pass(tile, i / values, i % values);
        }
        expect_all(tiles, "a share of " + std::to_string(share));
    }
}

}  // namespace
