// Passes of a tile of queries along the directions of a projection, or by numbers of 8 bits, whose
// candidates are looked at along further directions, if the projection has such, and by all
// coordinates in fp16.
#pragma once

#include <array>
#include <vector>

#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/reread.h"
#include "gpu/points/projection.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// Rows of points that vectors are made of (points/listed_vectors.h).
struct RowSource {
    const DeviceRows& points;
    const DeviceMetric& metric;
};

class GatheredCells;

// Queries are those of `pass`, of all coordinates. Everything is enqueued on the stream.
class ProjectedPass {
public:
    // `wanted`: neighbours of a query. `rows`: where not null, what passes has its vectors of all
    // coordinates made of these; of bytes.
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

    // Whether few enough points pass for the first queries, which may be unlike the points: of the
    // range that begins with point `seen`. Where there are few queries or no such points nothing is
    // tried: directions serve, and numbers of 8 bits of many dimensions. Synchronises.
    bool serves(std::int64_t seen);
    // What passes of the range for the first queries, as serves() judges it.
    struct Counts {
        double pairs = 0, passed = 0;  // passed: of each query what it has room for
        std::int64_t overflowed = 0;   // queries that have no room for all
    };
    Counts count_pilots(std::int64_t seen);
    // The same of each of the first q queries, of those that have room at a time.
    std::vector<std::int32_t> count_passing(std::int64_t q, std::int64_t seen);
    // Of bytes, half norms and thresholds as terms of the sums: the points' own unless others are
    // taken, or none: thresholds may lie lower than terms reach (bytes.h), and then let more points
    // pass.
    bool uses_terms() const { return byte_terms_ && *byte_terms_; }
    void take_terms(const ByteTermRows* terms) { byte_terms_ = terms; }
    // The same of a chunk's searches for so many neighbours: what few queries want follows from
    // their number, that of others from the first of them, unless it is known. Takes the terms of
    // bytes with which they serve.
    bool serves(const Chunk& chunk, std::int64_t seen);
    // Projects the first q queries, at least.
    void prepare(std::int64_t q);
    // The end of the range that begins with point `seen`: so many more than have been seen that
    // thresholds are still near, and that what passes has room for most queries.
    std::int64_t end_of_range(std::int64_t seen) const;
    // Of the list of what has been seen of points [0, seen) the order statistic that becomes the
    // threshold: of positions in the order of cells none but the last wanted is certain.
    std::int64_t order(std::int64_t seen) const;
    // Appends to the lists which of points [first, to) are within their thresholds.
    void run(std::int64_t first, std::int64_t to, const CandidateLists& lists);
    // Whether the points from cells_first() on are looked at cell by cell.
    bool in_cells() const;
    std::int64_t cells_first() const { return points_.cells.view.first; }
    // Appends to the lists which of these are within their thresholds, and lowers these on the way.
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
    int stages_;  // those of the projection that are used
    cudaStream_t stream_;
    const RowSource* rows_;
    const ByteTermRows* byte_terms_;
    std::int64_t prepared_ = 0;           // queries that are projected
    std::int64_t step_ = 0;               // queries whose candidates are in memory at a time
    Buffer<char> vectors_;                // of all queries
    Buffer<float> error_, threshold_;     // the same; of bytes, thresholds are ints
    Buffer<Candidate> found_;             // step x room
    Buffer<std::int32_t> counts_, left_;  // step; left_room(step)
    Buffer<char> terms_;                  // the same
    std::array<Buffer<char>, most_stages> further_;  // rows of all queries
};

}  // namespace kith::gpu
