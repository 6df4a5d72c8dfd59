// Where selectors that own whole rows leave their result.
#pragma once

#include "gpu/primitives/row_walk.cuh"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/sort_result.cuh"

namespace kith::gpu {

// A row's result: entries for a later sort where the result is to be sorted, else the result
// itself.
struct RowResult {
    SelectOut out;
    Packed* kept;  // rows x k, or null

    __device__ __forceinline__ void put(std::int64_t row, std::int64_t j, Packed p) const {
        if (kept) kept[row * out.k + j] = p;
        else out.put(row, j, p);
    }
};

// Runs select(result) and sorts what it leaves, where the job asks for that: 16 bytes of workspace
// per neighbour.
template <class Select>
void select_then_sort(const SelectJob& job, Select select) {
    const SelectOut out = out_of(job, SelectLayout::by_row);
    Buffer<Packed> kept(job.sorted ? job.rows * job.k : 0, job.stream);
    select(RowResult{out, kept.get()});
    if (job.sorted) sort_packed(kept.get(), nullptr, 0, job.rows, job.k, job.k, out, job.stream);
}

}  // namespace kith::gpu
