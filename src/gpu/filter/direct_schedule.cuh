// The order in which the direct filter's blocks take their tiles, and how the words of these come
// to shared memory.
#pragma once

#include "gpu/filter/pass.h"
#include "gpu/filter/segments.h"
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/wgmma.cuh"

namespace kith::gpu::direct {

// Work tiles: a panel of queries x a segment of panels of points; slices of all of them, one after
// the other.
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

// Square panels of `tile` rows, in slices of so many words, on a device that runs so many blocks at
// a time.
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

// The slices of a block's tiles, in a ring in shared memory: one is read while the next come by
// cp.async, across the ends of tiles. A stage holds `slice` words of `tile` queries, then those of
// points; where a row ends within a slice, zeros follow up to a multiple of `depth` words.
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

    // The next stage, which stays until the call after this one. All of the block's threads call
    // it; where `depth` is that of wgmma, this may read it.
    __device__ __forceinline__ const char* next() {
        cp_async_wait<stages - 2>();
#if defined(KITH_SM_90A)
        if constexpr (depth > 1) fence_proxy_async();  // wgmma reads what this thread has copied
#endif
        __syncthreads();  // this slice has come for all, and all have left the one that is loaded
                          // over
        load();
        const char* const stage = memory + used * stage_bytes;
        used = used + 1 == stages ? 0 : used + 1;
        return stage;
    }
    // How many words the slice s of a tile has.
    __device__ __forceinline__ int words(int s) const {
        return min(slice, static_cast<int>(pass.width) - s * slice);
    }
};

}  // namespace kith::gpu::direct
