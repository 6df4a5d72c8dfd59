// Sorting the rows of a matrix of entries, by a block and by CUB, against the standard library.
#include <algorithm>
#include <random>
#include <utility>

#include "gpu/primitives/sort/segmented_sort.h"
#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/primitives/tuning.h"
#include "gpu_arrays.h"

namespace {

using Entry = std::pair<std::uint64_t, std::uint32_t>;

template <class T>
void copy_to(const gpu_arrays::Buffer<T>& there, const std::vector<T>& values) {
    gpu_arrays::check(cudaMemcpy(there.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
}

// Rows of up to `most` entries, of as many keys as entries, and of few, so that ids decide.
void hold(std::int64_t most, std::int64_t k, bool few_keys) {
    constexpr std::int64_t rows = 5, count_step = 2;
    const std::int64_t stride = most + 3;
    std::mt19937_64 random(static_cast<std::uint64_t>(most + k));
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(rows * stride));
    std::vector<std::uint32_t> ids(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = few_keys ? random() % 3 << 40 : random();
        ids[i] = static_cast<std::uint32_t>(i * 2654435761u);  // distinct
    }
    // Full, empty, one entry, fewer and more than k.
    const std::int64_t sizes[rows] = {most, 0, 1, std::min(most, k / 2 + 1), std::min(most, 3 * k)};
    std::vector<std::int32_t> counts(rows * count_step, -1);
    for (std::size_t row = 0; row < rows; ++row) counts[row * count_step] = static_cast<std::int32_t>(sizes[row]);
    std::vector<std::uint64_t> want_keys;
    std::vector<std::uint32_t> want_ids;
    std::vector<std::int64_t> want_final;
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<Entry> entries;
        for (std::int64_t i = row * stride; i < row * stride + sizes[row]; ++i)
            entries.emplace_back(keys[static_cast<std::size_t>(i)], ids[static_cast<std::size_t>(i)]);
        std::sort(entries.begin(), entries.end());
        entries.resize(static_cast<std::size_t>(k), {~std::uint64_t{0}, ~std::uint32_t{0}});
        for (const auto& [key, id] : entries) {
            want_keys.push_back(key);
            want_ids.push_back(id);
            want_final.push_back(key == ~std::uint64_t{0} ? -1 : std::int64_t{id});
        }
    }
    const gpu_arrays::Buffer<std::uint64_t> there_keys(keys.size()), out_keys(want_keys.size());
    const gpu_arrays::Buffer<std::uint32_t> there_ids(ids.size()), out_ids(want_ids.size());
    const gpu_arrays::Buffer<std::int32_t> there_counts(counts.size());
    const gpu_arrays::Buffer<std::int64_t> out_final(want_final.size());
    copy_to(there_keys, keys);
    copy_to(there_ids, ids);
    copy_to(there_counts, counts);
    kith::gpu::sort_rows({there_keys.data(), there_ids.data(), there_counts.data(), count_step, rows, stride, most},
                         {out_keys.data(), out_ids.data(), k, out_final.data()}, nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());
    EXPECT_EQ(want_keys, out_keys.host()) << "most " << most << ", k " << k;
    EXPECT_EQ(want_ids, out_ids.host()) << "most " << most << ", k " << k;
    EXPECT_EQ(want_final, out_final.host()) << "most " << most << ", k " << k;
}

TEST(GpuSortRows, OfEveryLength) {
    constexpr std::int64_t longest = kith::gpu::tuning::sort_in_shared;
    for (const bool few_keys : {false, true}) {
        for (const std::int64_t most : {1, 2, 63, 64, 130, 1000, 1024, 1025, 4096, 4097}) hold(most, 10, few_keys);
        for (const std::int64_t k : {1, 100, 3000}) {
            hold(longest, k, few_keys);
            hold(longest + 1, k, few_keys);
        }
    }
}

TEST(GpuSortRows, SegmentsOfRows) {
    constexpr std::int64_t rows = 300, stride = 7;
    std::vector<std::int32_t> counts(rows * 2);
    std::vector<std::int64_t> begin, whole, part;
    for (std::int64_t row = 0; row < rows; ++row) {
        counts[static_cast<std::size_t>(row * 2)] = static_cast<std::int32_t>(row % 8);
        begin.push_back(row * stride);
        whole.push_back(row * stride + 5);
        part.push_back(row * stride + row % 8);
    }
    const gpu_arrays::Buffer<std::int32_t> there(counts.size());
    copy_to(there, counts);
    const auto host = [](const kith::gpu::Buffer<std::int64_t>& places) {
        std::vector<std::int64_t> out(rows);
        gpu_arrays::check(cudaDeviceSynchronize());
        gpu_arrays::check(cudaMemcpy(out.data(), places.get(), rows * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
        return out;
    };
    const kith::gpu::RowSegments all = kith::gpu::row_segments(nullptr, 0, rows, stride, 5, nullptr);
    EXPECT_EQ(begin, host(all.begin));
    EXPECT_EQ(whole, host(all.end));
    const kith::gpu::RowSegments some = kith::gpu::row_segments(there.data(), 2, rows, stride, 5, nullptr);
    EXPECT_EQ(begin, host(some.begin));
    EXPECT_EQ(part, host(some.end));
}

}  // namespace
