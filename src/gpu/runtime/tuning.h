// Tuning numbers of device memory and of uploads. The uploads': one NVIDIA H100 80GB HBM3, 16
// threads of its host, 2026-11-21, one search of 1,048,576 x 128 f32 points from pageable memory:
// 67 ms before, 18.7 with these (docs/performance.md). upload_block since: one NVIDIA H200,
// 2026-11-23, that search 18.3 ms with 4 MiB and 18.4 with 2, and 4,194,304 points that stream for
// one query 45.7 and 46.7.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Pageable memory goes to the device through pinned blocks: large enough that the gap between two
// copies is small against the copy, together small enough for the processor's cache. One thread
// packs about 10 GB/s, the bus takes 50.
inline constexpr std::int64_t upload_block = std::int64_t{4} << 20;
inline constexpr int upload_threads = 8;
// Below, starting threads costs more than the driver's own staging.
inline constexpr std::int64_t upload_staged = std::int64_t{1} << 20;

// Memory that is not pageable is copied in pieces of so many bytes, some milliseconds each, where a
// callback watches. Reasoned, not timed: 256 MiB at the bus's 50 GB/s are 5 ms.
inline constexpr std::int64_t watched_copy = std::int64_t{256} << 20;

// Memory that nobody uses stays with the library between two calls up to this share of the
// device's: what most searches ask for again at once. Reasoned, not timed.
inline std::int64_t kept_bytes(std::int64_t device_bytes) {
    return device_bytes / 16;
}
// Blocks of up to so many bytes stay with a call and wait for the next one (call_memory.h): at most
// so many, and so many bytes in all. Sizes are multiples of the least. Reasoned, not timed.
inline constexpr std::size_t least_kept_block = 512, largest_kept_block = std::size_t{16} << 20,
                             kept_block_bytes = std::size_t{64} << 20, kept_blocks = 64;

}  // namespace kith::gpu::tuning
