// The order in which the direct filter's blocks take their tiles.
#pragma once

#include "gpu/filter/pass.h"
#include "gpu/filter/segments.h"

namespace kith::gpu::direct {

// Work tiles: a panel of queries x a segment of panels of points; slices of all of them, one after the other.
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
    __device__ std::int64_t query_panel(const Schedule& schedule) const { return id % schedule.query_tiles; }
    __device__ void next(const Schedule& schedule) {
        if (++slice < schedule.slices) return;
        slice = 0;
        if (++panel == end) at(schedule, id + gridDim.x);
    }
};

// Square panels of `tile` rows, in slices of so many words, on a device that runs so many blocks at a time.
inline Schedule make_schedule(const FilterPass& pass, int tile, int slice, int blocks) {
    Schedule schedule{};
    schedule.query_tiles = (pass.q + tile - 1) / tile;
    schedule.tiles = static_cast<int>((pass.count + tile - 1) / tile);
    schedule.slices = static_cast<int>((pass.width + slice - 1) / slice);
    schedule.segment = segment_length(schedule.tiles, schedule.query_tiles, blocks, 0.05);
    schedule.work_tiles =
        std::int64_t{(schedule.tiles + schedule.segment - 1) / schedule.segment} * schedule.query_tiles;
    return schedule;
}

}  // namespace kith::gpu::direct
