// Candidates of a filter along few directions, looked at along further ones, stage after stage,
// then by all coordinates.
#pragma once

#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/further.h"

namespace kith::gpu {

// Rows of a stage (further.h).
struct RereadStage {
    const char *queries = nullptr, *points = nullptr;
    std::int64_t row_bytes = 0;  // of points
    float unit = 0;              // the product of their steps

    RereadStage() = default;
    RereadStage(const FurtherColumns& columns, const char* of_queries, const char* of_points)
        : queries(of_queries),
          points(of_points),
          row_bytes(columns.row_bytes()),
          unit(static_cast<float>(columns.step * columns.query_step)) {}
};

// Queries that have more candidates left than are looked at at once, and their thresholds before.
struct LongerLists {
    struct Entry {
        std::int32_t query;
        float before;
    };
    std::int32_t count;
    Entry entries[1];  // as many as queries

    static std::int64_t words(std::int64_t q) { return 1 + 2 * q; }
};

struct RereadTask {
    Candidate* found = nullptr;      // q x room: what passed; overwritten where there are stages
    std::int32_t* counts = nullptr;  // per query; may exceed room: what did not fit is lost
    std::int64_t room = 0;
    const void *queries = nullptr,
               *points = nullptr;  // vectors of all coordinates, rows of `width` halves
    const float* half_norm = nullptr;
    std::int64_t width = 0;  // at most tuning::most_projected_width
    int stages = 0;
    RereadStage stage[most_stages];
    // Where not 0, the a of `found` and `threshold` are the bits of ints: of sums in such units.
    float sum_unit = 0;
    const float* threshold = nullptr;  // of stages: those that the candidates passed
    // Where there are stages: left_room(q), what they leave of each share, and room for q queries;
    // overwritten.
    std::int32_t* left = nullptr;
    LongerLists* longer = nullptr;
    // Where not 0, and there are stages and no parts: of the order statistic of a list that its
    // threshold is lowered to while rows are read.
    int order = 0;
    // Where not 0, and there are stages and no fewer than queries_of_most_shares queries: how many
    // points are a part, of [first, end), which candidates are among; their rows are read part by
    // part then.
    std::int64_t part = 0, first = 0, end = 0;
    // Where not null, and there are no stages, vectors are of the candidates in turn: those of
    // query i from offset[i] on.
    const std::int64_t* offset = nullptr;
};

// The rows of the candidates of q queries, of n points: out[offset[i] + c] of candidate c of query
// i, of which none has more than `room`.
void candidate_rows(const RereadTask& task, const FilterForm& form, std::int64_t q, std::int64_t n,
                    std::int64_t* out, cudaStream_t stream);

// Appends those whose values by all coordinates are within the lists' thresholds to the lists,
// without reading the rows of those that a stage says are beyond, and marks lists as overflowed
// whose candidates did not fit. Thresholds may come out lower (reread.cuh): no less than
// tighten_lists() makes them of what the lists have then.
void reread(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);

}  // namespace kith::gpu
