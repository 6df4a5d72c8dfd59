// Candidates of a filter along few directions, looked at by all coordinates.
#pragma once

#include "gpu/filter/candidate_lists.h"

namespace kith::gpu {

struct RereadTask {
    const Candidate* found = nullptr;  // q x room: what passed
    std::int32_t* counts = nullptr;    // per query; may exceed room: what did not fit is lost
    std::int64_t room = 0;
    const void *queries = nullptr, *points = nullptr;  // vectors of all coordinates, rows of `width` halves
    const float* half_norm = nullptr;
    std::int64_t width = 0;  // at most tuning::most_projected_width
};

// Appends those whose values by all coordinates are within the lists' thresholds to the lists, and marks lists as
// overflowed whose candidates did not fit.
void reread(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);

}  // namespace kith::gpu
