// Ball-cover partition: clusters of points, and the clusters that a query of the fused filter may
// skip (docs/proofs/partition.md, lemma 1). A cluster is a range of positions: the points that are
// nearer to its centre, a vector of the filter, than to other centres. R is the largest distance of
// its points from the centre. No point of the cluster is nearer to a query than the centre's
// distance less R. The values a of the pairs follow from that distance. If all of them are above
// the query's threshold, the cluster's tiles are skipped. (The random ball cover: Cayton 2012; here
// with the values that the filter computes, so that the rest of the certificate is unchanged.)
#pragma once

#include <cuda_fp16.h>

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Bounds for the values of a cluster's points v, without points that are no query's candidates.
struct ClusterBound {
    double radius = 0;  // at least |v - centre|
    double room = 0;    // at least 2 (E_v + |v|^2 / 2 - half_norm); E_v: accumulation error by v
    double error = 0;   // accumulation error of the centre's own value, by the centre
};

// All arrays are on the device. The points have vectors of `width` halves, by position.
struct ClusterView {
    const void* centres = nullptr;  // count x width
    const float* half_square =
        nullptr;  // of centres: |c|^2 / 2; +inf as padding up to a multiple of filter_tile_points
    const ClusterBound* bounds = nullptr;  // count
    const std::uint32_t* begin = nullptr;  // count + 1: positions less `first`
    std::int64_t count = 0, width = 0;
    std::int64_t first =
        0;             // a multiple of filter_tile_points; positions before it are in no cluster
    double gamma = 0;  // FilterForm::gamma
};

// half_square of `count` vectors, with room for whole tiles.
void half_squares(const void* vectors, std::int64_t count, std::int64_t width, float* out,
                  cudaStream_t stream);

// out: half_square - <u, c> of `count` vectors u and all centres, rows whole_tiles(view.count)
// apart.
void centre_values(const ClusterView& view, const void* vectors, std::int64_t count, FilterIsa isa,
                   float* out, cudaStream_t stream);

// For `rows` rows of values (`ld` apart) of vectors with `count` centres: the least value and its
// centre. Either output may be null.
void nearest_centres(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                     std::uint32_t* centres, float* least, cudaStream_t stream);

// Adds to *total the number of values, among the `count` of each row, that are at most the row's
// least value plus 4 times its error. Rows with an error that is not finite count for none.
void count_near(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                const float* least, const float* error, unsigned long long* total,
                cudaStream_t stream);

// For rows [first, first + rows) of vectors, from their values with all of the vectors. near[i] is
// true if a vector before row first + i is nearer to it than the square root of apart2.
// `half_square`: of the vectors.
void near_earlier(const float* values, std::int64_t ld, std::int64_t first, std::int64_t rows,
                  const float* half_square, float apart2, std::uint8_t* near, cudaStream_t stream);

// The bounds of clusters. The members of cluster c are vectors[view.first + members[i]], with half
// norms likewise, for i from view.begin[c] on.
void bound_clusters(const ClusterView& view, const void* vectors, const float* half_norm,
                    const std::uint32_t* members, ClusterBound* out, cudaStream_t stream);

// Queries, and their values with the centres.
struct ClusterQueries {
    const void* vectors = nullptr;     // q x view.width
    const float* threshold = nullptr;  // q
    const float* values = nullptr;     // q x ld: half_square - <u, c>
    std::int64_t q = 0, ld = 0;
    std::int64_t group = listed_queries;  // queries that share flags, at most
};

// flags[group * view.count + cluster]: true if a query of the group may have a candidate in the
// cluster.
void active_clusters(const ClusterView& view, const ClusterQueries& queries, std::uint8_t* flags,
                     cudaStream_t stream);

// reached[i]: true if query i may have a candidate in a cluster other than own[i]. Cluster c has
// begin[c + 1] - begin[c] points; the bounds are of all its points.
void other_clusters(const ClusterView& view, const ClusterQueries& queries,
                    const std::uint32_t* begin, const std::uint32_t* own, std::uint8_t* reached,
                    cudaStream_t stream);

// Sums over `groups` groups, one row of flags each: total[0], the points of the flagged clusters;
// total[1], the groups with at most one flagged cluster.
void count_active(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                  unsigned long long* total, cudaStream_t stream);

// For each group, the tiles of the flagged clusters, in order, among the `tiles` tiles of positions
// from `first` on. Tiles and counts are as in FilterPass, with stride `tiles`. `first` is at least
// view.first.
inline constexpr std::int64_t most_listed_tiles = 1 << 18;
void list_tiles(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                std::int64_t first, std::int64_t tiles, std::uint32_t* out, std::uint32_t* counts,
                cudaStream_t stream);

}  // namespace kith::gpu
