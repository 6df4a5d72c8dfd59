// Tuning numbers of device memory and of uploads. Uploads: one NVIDIA H100 80GB HBM3, 16 threads of
// its host, 2026-11-21, one search of 1,048,576 x 128 f32 points from pageable memory: 67 ms
// before, 18.7 with these (lab/*-fused-filter). upload_block: one NVIDIA H200, 2026-11-23, that
// search 18.3 ms with 4 MiB and 18.4 with 2; 4,194,304 points that stream for one query 45.7 and
// 46.7.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Pageable memory goes to the device through pinned blocks. A block is large enough that the gap
// between two copies is small against a copy; together they fit the processor's cache. One thread
// packs about 10 GB/s, the bus takes 50.
inline constexpr std::int64_t upload_block = std::int64_t{4} << 20;
inline constexpr int upload_threads = 8;
// Below this size, starting threads costs more than the driver's own staging.
inline constexpr std::int64_t upload_staged = std::int64_t{1} << 20;

// If a callback watches, memory that is not pageable is copied in pieces of this many bytes, some
// milliseconds each. Reasoned, not timed: 256 MiB at the bus's 50 GB/s are 5 ms.
inline constexpr std::int64_t watched_copy = std::int64_t{256} << 20;

// Unused memory stays with the library between two calls, up to this share of the device's: most
// searches soon request as much again. Reasoned, not timed.
inline std::int64_t kept_bytes(std::int64_t device_bytes) {
    return device_bytes / 16;
}
// Blocks of up to largest_kept_block bytes stay with a call and wait for the next one
// (call_memory.h): at most kept_blocks, and kept_block_bytes in all. Sizes are multiples of
// least_kept_block. Reasoned, not timed.
inline constexpr std::size_t least_kept_block = 512, largest_kept_block = std::size_t{16} << 20,
                             kept_block_bytes = std::size_t{64} << 20, kept_blocks = 64;

}  // namespace kith::gpu::tuning
