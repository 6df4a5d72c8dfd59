// Vectors relative to the centres of their clusters (docs/exactness.md, section 12): where clusters are tight, fp16
// tells points of one apart that it cannot tell apart relative to one centre of all.
//
// With x = c + y of a cluster's centre c and a query u, half of a pair's squared distance is
//     D = |u - x|^2 / 2 = |u - c|^2 / 2 + (|y|^2 / 2 + <c, y>) - <u, y>.
// The last term is what matrix units compute, of a vector that is short. The second is the point's half norm; the
// first, with the bound on all errors, is in a threshold of each query and cluster, which stands in a table.
#pragma once

#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/clusters.h"

namespace kith::gpu {

// Of a cluster's points: the largest |y|, |y - y^| and |half norm|, as the bits of numbers of f32 that are not
// negative.
struct RelativeBound {
    std::uint32_t size = 0, rest = 0, half_norm = 0;
};

// A tile of one cluster's points: the first of them, less ClusterView::first. What follows the last of the cluster in
// it has half norms of +inf.
struct alignas(8) RelativeTile {
    std::uint32_t row, cluster;
};

// All on the device, of the points from ClusterView::first on.
struct RelativeView {
    void* vectors = nullptr;              // rows of ClusterView::width halves: y^, by position, and a tile of zeros
    float* half_norm = nullptr;           // filter_tile_points for each tile
    RelativeTile* tiles = nullptr;        // up to most_tiles
    std::uint32_t* tile_begin = nullptr;  // per cluster, and their number
    RelativeBound* bounds = nullptr;      // per cluster
    std::int64_t most_tiles = 0;
};
// Tiles of one cluster each, at most.
constexpr std::int64_t most_relative_tiles(std::int64_t points, std::int64_t clusters) {
    return points / filter_tile_points + clusters;
}

// ---- preparing

// position[r]: where row r is, of n.
void row_positions(const FilterForm& form, std::int64_t n, std::uint32_t* position, cudaStream_t stream);

// The tiles of all clusters; clears bounds and half norms.
void relative_tiles(const ClusterView& view, const RelativeView& relative, std::int64_t points, cudaStream_t stream);

// Vectors, half norms and bounds of `count` rows whose positions, and coordinates in binary64 as MetricKernels::sample
// gives them (before they are made unit where form.unit), are given. half_norm: of the form, by position; points that
// it does not cover or that are nobody's neighbour keep theirs.
struct RelativeRows {
    const double* coordinates = nullptr;  // count x d
    const std::uint32_t* position = nullptr;
    const float* half_norm = nullptr;
    std::int64_t count = 0, d = 0;
};
void relative_points(const ClusterView& view, const RelativeView& relative, const FilterForm& form,
                     const RelativeRows& rows, cudaStream_t stream);

// The form that MetricKernels::sample is to give coordinates of.
inline FilterForm sampled_form(FilterForm form) {
    // Lengths come from the coordinates themselves.
    if (form.unit) form.centre = nullptr;
    return form;
}

// ---- queries

// What is known of q queries in binary64. Per query: coordinates (coordinate i of query j at [i * q + j]), half of the
// squared norm, and the distance from the rounded vector.
struct ExactQueries {
    double* coordinates = nullptr;
    double* half_square = nullptr;
    double* rest = nullptr;
    std::int64_t q = 0;
};
// Of queries [first, first + count), from coordinates as those of points and all queries' rounded vectors.
void exact_queries(const ExactQueries& queries, const FilterForm& form, const double* coordinates, std::int64_t first,
                   std::int64_t count, std::int64_t d, const void* vectors, cudaStream_t stream);

// The factor from distance keys to D.
inline double key_to_half_square(const FilterForm& form) {
    return form.unit ? form.scale * form.scale : form.scale * form.scale / 2;
}

// Thresholds of D that passes with `coarse` thresholds and errors have served: no point that they left out has a D of
// at most that, rounded upwards.
void served_thresholds(const ExactQueries& queries, const float* coarse, const float* error, const std::uint8_t* unfit,
                       float* out, cudaStream_t stream);
// The other way: those of values that lists must hold for all points with a D of up to the threshold, in place.
void unserved_thresholds(const ExactQueries& queries, const float* error, float* threshold, cudaStream_t stream);

// Lowers thresholds of the filter's own values to about what lets the `order` nearest of near_points points of the
// clusters at and behind the nearest one through, where there are so many; none for order 0. And about what a pass adds
// to thresholds of D for that cluster. Without a bound: a threshold that is too low costs a query another try, no
// answer.
inline constexpr int near_points = 256;
struct NearQueries {
    std::int64_t first = 0, count = 0;       // of ExactQueries
    const std::uint32_t* nearest = nullptr;  // cluster; of the first of them on
    // Of all queries.
    const float* error = nullptr;
    const std::uint8_t* unfit = nullptr;
    float* threshold = nullptr;
    float* loss = nullptr;
};
void near_thresholds(const ClusterView& view, const RelativeView& relative, const ExactQueries& queries,
                     const NearQueries& near, std::int64_t order, cudaStream_t stream);

// Rows, of n, of the lists' entries, `lists.capacity` apart, and how many the lists hold.
void entry_rows(const CandidateLists& lists, const FilterForm& form, std::int64_t n, std::uint32_t* rows,
                std::int32_t* counts, cudaStream_t stream);
// Entries' values from the distance keys of those: D, rounded upwards.
void set_values(const CandidateLists& lists, const std::uint64_t* keys, const std::int32_t* counts, double factor,
                cudaStream_t stream);

// ---- the pass

// What each group of listed_queries queries has to look at. Room for `groups` of them.
struct RelativeLists {
    std::uint32_t* tiles = nullptr;           // numbers of tiles, view.most_tiles apart
    std::uint32_t* tile_counts = nullptr;     // per group
    std::uint32_t* clusters = nullptr;        // those with flags, view.count apart
    std::uint32_t* cluster_counts = nullptr;  // per group
    float* thresholds = nullptr;              // of each group and cluster: listed_queries
};
void list_relative(const ClusterView& view, const RelativeView& relative, const std::uint8_t* flags,
                   std::int64_t groups, const RelativeLists& lists, cudaStream_t stream);

// Thresholds of the listed clusters for queries [first, first + count), first a multiple of listed_queries: a pair with
// a D of at most threshold[query] has a value of no more than its cluster's.
void relative_thresholds(const ClusterView& view, const RelativeView& relative, const FilterForm& form,
                         const ExactQueries& queries, const float* threshold, std::int64_t first, std::int64_t count,
                         const RelativeLists& lists, cudaStream_t stream);

// Appends the pairs of the pass' queries and listed tiles that are within their thresholds: half norms and points are
// those of `relative`. Values of what it appends are of no use.
void relative_pass_sm_90a(FilterPass pass, const ClusterView& view, const RelativeView& relative,
                          const RelativeLists& lists, cudaStream_t stream);

}  // namespace kith::gpu
