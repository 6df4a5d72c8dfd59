// Passes of a tile of queries over a PCA projection, or over int8 coordinates. Candidates go
// through the projection's residual stages, if it has any, and are rescored from full-dimensional
// fp16 rows.
#pragma once

#include <array>
#include <vector>

#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/filter/rescore/reread.h"
#include "gpu/points/pca/projection.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// The rows that points' vectors are made of (points/listed_vectors.h).
struct RowSource {
    const DeviceRows& points;
    const DeviceMetric& metric;
};

class GatheredCells;

// `pass` holds the queries, with all coordinates. All work is enqueued on the stream.
class ProjectedPass {
public:
    // `wanted`: k_eff, the neighbours of a query. `rows`: if not null, the fp16 vectors of
    // candidates are made of these rows; int8 only. Refers to the first two arguments and *rows,
    // which must outlive it.
    ProjectedPass(const ProjectedVectors& points, const FilterVectors& filter,
                  const FilterPass& pass, FilterIsa isa, std::int64_t wanted, cudaStream_t stream,
                  const RowSource* rows = nullptr)
        : points_(points),
          filter_(filter),
          pass_(pass),
          isa_(isa),
          wanted_(wanted),
          stages_(tuning::stages_of(points.directions.stages, filter.form.width, wanted)),
          stream_(stream),
          rows_(rows),
          byte_terms_(&points.byte_terms) {}

    // True if the filter pays for the pilot queries, which may be unlike the points, in the range
    // that begins with point `seen`. For few queries, or without such a range, there are no pilots:
    // a PCA projection serves, and int8 of all coordinates serves in many dimensions. Synchronises.
    bool serves(std::int64_t seen);
    // The candidates of the pilot queries in the range that begins with point `seen`; the input of
    // serves(). Synchronises.
    struct Counts {
        double pairs = 0, passed = 0;  // passed: candidates, at most the room of each query
        std::int64_t overflowed = 0;   // queries whose candidates exceed the room
    };
    Counts count_pilots(std::int64_t seen);
    // The number of candidates in that range for each of the first q queries, at most one step of
    // them. Synchronises.
    std::vector<std::int32_t> count_passing(std::int64_t q, std::int64_t seen);
    // Int8 only: half norms and thresholds as bias columns of the sums. The default are the points'
    // own columns; take_terms() replaces them, null means none. A threshold below the range of the
    // columns (bytes.h) lets more points pass.
    bool uses_terms() const { return byte_terms_ && *byte_terms_; }
    void take_terms(const ByteTermRows* terms) { byte_terms_ = terms; }
    // As serves(seen), remembered: few queries are decided by their number, others by
    // the pilots of the first search with this many neighbours. Takes the int8 terms that serve.
    // Synchronises.
    bool serves(const Chunk& chunk, Learned& learned, std::int64_t seen);
    // Projects at least the first q queries.
    void prepare(std::int64_t q);
    // The end of the range that begins with point `seen`. It is a multiple of `seen` points at
    // most, so that thresholds are still close, and has room for the candidates of most queries.
    std::int64_t end_of_range(std::int64_t seen) const;
    // The order statistic that becomes the threshold, in the list of points [0, seen). Positions in
    // the order of cells are no sample: there only the k-th is certain.
    std::int64_t order(std::int64_t seen) const;
    // Appends the candidates among points [first, to) to the lists.
    void run(std::int64_t first, std::int64_t to, const CandidateLists& lists);
    // True if the points from cells_first() on are searched cell by cell.
    bool in_cells() const;
    std::int64_t cells_first() const { return points_.cells.view.first; }
    // Appends the candidates among those points to the lists, and lowers the thresholds on the way.
    void run_cells(const CandidateLists& lists);

private:
    FilterPass pass_of(std::int64_t at, std::int64_t count, std::int64_t first, std::int64_t to);
    void pass(std::int64_t at, std::int64_t count, std::int64_t first, std::int64_t to);
    void pass_cells(std::int64_t at, std::int64_t count, GatheredCells& cells,
                    const CandidateLists& lists);
    RereadTask reread_task(std::int64_t at, std::int64_t order) const;
    bool raises_thresholds(const std::vector<std::int32_t>& of_ints, std::int64_t seen);
    void set_thresholds(std::int64_t q, const std::uint8_t* overflowed);
    void reread_made(const CandidateLists& lists, const RereadTask& task);

    const ProjectedVectors& points_;
    const FilterVectors& filter_;
    FilterPass pass_;
    FilterIsa isa_;
    std::int64_t wanted_;
    int stages_;  // stages of the projection that are used
    cudaStream_t stream_;
    const RowSource* rows_;
    const ByteTermRows* byte_terms_;
    std::int64_t prepared_ = 0;                      // number of projected queries
    std::int64_t step_ = 0;                          // queries whose candidates fit in memory
    Buffer<char> vectors_;                           // for all queries
    Buffer<float> error_, threshold_;                // for all queries; int8: integer thresholds
    Buffer<Candidate> found_;                        // step x room
    Buffer<std::int32_t> counts_, left_;             // step; left_room(step) and LongerLists
    Buffer<char> terms_;                             // bias columns of one step
    std::array<Buffer<char>, most_stages> further_;  // stage rows of all queries
};

}  // namespace kith::gpu
