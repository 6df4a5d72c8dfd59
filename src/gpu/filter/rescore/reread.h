// Rescores the candidates of a PCA projection: with residual stages, one after the other, then with
// full-dimensional rows.
#pragma once

#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/filter/pca/further.h"

namespace kith::gpu {

// Rows of a residual stage (further.h).
struct RereadStage {
    const char *queries = nullptr, *points = nullptr;
    std::int64_t row_bytes = 0;  // of points
    float unit = 0;              // product of the steps of points and queries

    RereadStage() = default;
    RereadStage(const FurtherColumns& columns, const char* of_queries, const char* of_points)
        : queries(of_queries),
          points(of_points),
          row_bytes(columns.row_bytes()),
          unit(static_cast<float>(columns.step * columns.query_step)) {}
};

// Queries with more candidates left than a block holds at once, and their thresholds before.
struct LongerLists {
    struct Entry {
        std::int32_t query;
        float before;
    };
    std::int32_t count;
    Entry entries[1];  // one per query

    static std::int64_t words(std::int64_t q) { return 1 + 2 * q; }
};

struct RereadTask {
    Candidate* found =
        nullptr;  // q x room: candidates of the pass; overwritten if there are stages
    std::int32_t* counts =
        nullptr;  // per query; may exceed room: entries that did not fit are lost
    std::int64_t room = 0;
    const void *queries = nullptr,
               *points = nullptr;  // full-dimensional vectors, rows of `width` halves
    const float* half_norm = nullptr;
    std::int64_t width = 0;  // at most tuning::most_projected_width
    int stages = 0;
    RereadStage stage[most_stages];
    // If not 0, the a of `found` and `threshold` hold the bits of ints: sums in units of sum_unit.
    float sum_unit = 0;
    const float* threshold = nullptr;  // with stages: the thresholds that the candidates passed
    // With stages: left_room(q) counts of the candidates that remain in each share, and room for q
    // queries. Both are overwritten.
    std::int32_t* left = nullptr;
    LongerLists* longer = nullptr;
    // If not 0, with stages and without parts: each list's threshold is lowered to this order
    // statistic of the list while rows are rescored.
    int order = 0;
    // If not 0, with stages and at least queries_of_most_shares queries: the rows are rescored in
    // blocks of `part` points of [first, end), the range of the candidates.
    std::int64_t part = 0, first = 0, end = 0;
    // If not null, without stages: the vectors are in the order of the candidates, those of query i
    // from offset[i] on.
    const std::int64_t* offset = nullptr;
};

// The rows of the candidates of q queries, of n points: out[offset[i] + c] for candidate c of query
// i. Queries with more than `room` candidates are left out.
void candidate_rows(const RereadTask& task, const FilterForm& form, std::int64_t q, std::int64_t n,
                    std::int64_t* out, cudaStream_t stream);

// Appends the candidates with full-dimensional values within the lists' thresholds to the lists.
// Rows that a stage excludes are not read. Lists are marked as overflowed if the candidates did not
// fit. Thresholds may be lowered (`reread.cuh`), but not below the one that tighten_lists()
// computes from the resulting lists.
void reread(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream);

}  // namespace kith::gpu
