// The tile schedule of the direct filter, and the pipeline that copies tiles to shared memory.
#pragma once

#include "gpu/filter/fused/segments.h"
#include "gpu/filter/pass.h"
#include "gpu/primitives/hopper/async_copy.cuh"
#include "gpu/primitives/hopper/wgmma.cuh"

namespace kith::gpu::direct {

// A work tile is a panel of queries x a segment of panels of points. Tiles are processed one after
// the other, each slice by slice.
struct Schedule {
    std::int64_t query_tiles, work_tiles;
    int tiles, segment, slices;
};

struct Cursor {
    std::int64_t id;
    int panel, end, slice = 0;
    __device__ Cursor(const Schedule& schedule, std::int64_t i) { at(schedule, i); }
    __device__ void at(const Schedule& schedule, std::int64_t i) {
        id = i;
        panel = static_cast<int>(i / schedule.query_tiles) * schedule.segment;
        end = min(panel + schedule.segment, schedule.tiles);
    }
    __device__ std::int64_t query_panel(const Schedule& schedule) const {
        return id % schedule.query_tiles;
    }
    __device__ void next(const Schedule& schedule) {
        if (++slice < schedule.slices) return;
        slice = 0;
        if (++panel == end) at(schedule, id + gridDim.x);
    }
};

// A schedule for square panels of `tile` rows, in slices of `slice` words, on a device that runs
// `blocks` blocks at a time.
inline Schedule make_schedule(const FilterPass& pass, int tile, int slice, int blocks) {
    Schedule schedule{};
    schedule.query_tiles = (pass.q + tile - 1) / tile;
    schedule.tiles = static_cast<int>((pass.count + tile - 1) / tile);
    schedule.slices = static_cast<int>((pass.width + slice - 1) / slice);
    schedule.segment = segment_length(schedule.tiles, schedule.query_tiles, blocks, 0.05);
    schedule.work_tiles = std::int64_t{(schedule.tiles + schedule.segment - 1) / schedule.segment} *
                          schedule.query_tiles;
    return schedule;
}

// A multistage pipeline in shared memory for the slices of a block's tiles. One slice is read while
// cp.async copies the next ones, also across tile boundaries. A stage holds `slice` words of `tile`
// queries, then those of points. A row that ends within a slice is padded with zeros to a multiple
// of `depth` words.
template <int tile, int slice, int stages, int threads, int depth>
struct SliceRing {
    static constexpr int slice_bytes = slice * tile * 4, stage_bytes = 2 * slice_bytes,
                         bytes = stages * stage_bytes;
    const FilterPass& pass;
    const Schedule& schedule;
    char* memory;
    Cursor loading;
    int filled = 0, used = 0;

    __device__ __forceinline__ SliceRing(const FilterPass& p, const Schedule& s, char* shared)
        : pass(p), schedule(s), memory(shared), loading(s, blockIdx.x) {
        for (int i = 0; i + 1 < stages; ++i) load();
    }

    __device__ __forceinline__ void load() {
        if (loading.id < schedule.work_tiles) {
            const int row = loading.slice * slice,
                      words = min(slice, static_cast<int>(pass.width) - row);
            const auto* const queries = static_cast<const float*>(pass.queries) +
                                        (loading.query_panel(schedule) * pass.width + row) * tile;
            const auto* const points =
                static_cast<const float*>(pass.points) +
                ((pass.first / tile + loading.panel) * pass.width + row) * tile;
            const std::uint32_t to = shared_address(memory) + filled * stage_bytes;
            const int there = words * tile / 4,
                      pieces = (words + depth - 1) / depth * depth * tile / 4;
            for (int i = static_cast<int>(threadIdx.x); i < pieces; i += threads) {
                const bool reads = depth == 1 || i < there;
                const int from = reads ? i * 4 : 0, bytes_read = reads ? 16 : 0;
                cp_async_16(to + i * 16, queries + from, bytes_read);
                cp_async_16(to + slice_bytes + i * 16, points + from, bytes_read);
            }
            loading.next(schedule);
        }
        cp_async_commit();
        filled = filled + 1 == stages ? 0 : filled + 1;
    }

    // Returns the next stage, which is valid until the next call. All threads of the block call.
    // wgmma may read the stage if `depth` is that of wgmma.
    __device__ __forceinline__ const char* next() {
        cp_async_wait<stages - 2>();
#if defined(KITH_SM_90A)
        if constexpr (depth > 1) fence_proxy_async();  // wgmma reads the copies of this thread
#endif
        __syncthreads();  // all copies of this slice are complete, and no thread reads the slice to
                          // be replaced
        load();
        const char* const stage = memory + used * stage_bytes;
        used = used + 1 == stages ? 0 : used + 1;
        return stage;
    }
    // The number of words of slice s of a tile.
    __device__ __forceinline__ int words(int s) const {
        return min(slice, static_cast<int>(pass.width) - s * slice);
    }
};

}  // namespace kith::gpu::direct
