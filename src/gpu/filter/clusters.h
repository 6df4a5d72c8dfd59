// Clusters of points, and which of them a query of the fused filter need not be compared with
// (docs/exactness.md, section 12). A cluster is a run of positions: the points that are nearer to
// its centre, a vector of the filter, than to the centres of others. With R the largest distance of
// its points from the centre, none of them is nearer to a query than the centre's distance less R:
// the values a of the pairs follow from that, and where they all are above the query's threshold,
// the cluster's tiles are left out. (The random ball cover: Cayton 2012; here with the values that
// the filter computes, so that nothing else of the certificate changes.)
#pragma once

#include <cuda_fp16.h>

#include "gpu/filter/pass.h"

namespace kith::gpu {

// What bounds the values of a cluster's points v, of which those are left out that are no query's
// candidates.
struct ClusterBound {
    double radius = 0;  // at least |v - centre|
    double room = 0;    // at least 2 (E_v + |v|^2 / 2 - half_norm), E_v: what the accumulation of a
                        // may lose by v
    double error = 0;   // what that of the centre's own value may lose by the centre
};

// All on the device. The points have vectors of `width` halves, by position.
struct ClusterView {
    const void* centres = nullptr;  // count x width
    const float* half_square =
        nullptr;  // of centres: |c|^2 / 2; with +inf up to a multiple of filter_tile_points
    const ClusterBound* bounds = nullptr;  // count
    const std::uint32_t* begin = nullptr;  // count + 1: positions less `first`
    std::int64_t count = 0, width = 0;
    std::int64_t first =
        0;             // position: those before are in no cluster; a multiple of filter_tile_points
    double gamma = 0;  // FilterForm::gamma
};

// half_square of `count` vectors, with room for whole tiles.
void half_squares(const void* vectors, std::int64_t count, std::int64_t width, float* out,
                  cudaStream_t stream);

// half_square - <u, c> of `count` vectors u and all centres, whole_tiles(view.count) apart.
void centre_values(const ClusterView& view, const void* vectors, std::int64_t count, FilterIsa isa,
                   float* out, cudaStream_t stream);

// Of rows of values (`ld` apart) of `rows` vectors with `count` centres: the least one and whose it
// is. Either may be null.
void nearest_centres(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                     std::uint32_t* centres, float* least, cudaStream_t stream);

// How many of the `count` values of rows are within twice a row's `error` on either side of its
// least one, summed over the rows: added to *total. Rows whose error is not finite count for none.
void count_near(const float* values, std::int64_t ld, std::int64_t rows, std::int64_t count,
                const float* least, const float* error, unsigned long long* total,
                cudaStream_t stream);

// Of rows [first, first + rows) of vectors and their values with all of these: whether one before
// it lies nearer than the root of apart2. half_square: of the vectors.
void near_earlier(const float* values, std::int64_t ld, std::int64_t first, std::int64_t rows,
                  const float* half_square, float apart2, std::uint8_t* near, cudaStream_t stream);

// The bounds of clusters whose members are vectors[view.first + members[i]], with half norms
// likewise, i from view.begin[c] on.
void bound_clusters(const ClusterView& view, const void* vectors, const float* half_norm,
                    const std::uint32_t* members, ClusterBound* out, cudaStream_t stream);

// Queries and their values with the centres.
struct ClusterQueries {
    const void* vectors = nullptr;     // q x view.width
    const float* threshold = nullptr;  // q
    const float* values = nullptr;     // q x ld: half_square - <u, c>
    std::int64_t q = 0, ld = 0;
    std::int64_t group = listed_queries;  // so many, at most, have flags together
};

// Whether any query of a group may have a candidate in a cluster: flags[group * view.count +
// cluster].
void active_clusters(const ClusterView& view, const ClusterQueries& queries, std::uint8_t* flags,
                     cudaStream_t stream);

// Whether a query may have a candidate in any cluster but its own: own[i] and reached[i] for query
// i. A cluster's points are begin[c + 1] - begin[c], and the bounds are of all of them.
void other_clusters(const ClusterView& view, const ClusterQueries& queries,
                    const std::uint32_t* begin, const std::uint32_t* own, std::uint8_t* reached,
                    cudaStream_t stream);

// How many points the clusters have that flags (of one group per row) say, summed over `groups`,
// and how many groups have no more than one cluster: total[0], total[1].
void count_active(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                  unsigned long long* total, cudaStream_t stream);

// Of each group the tiles of positions from `first` on, up to `tiles`, that the clusters have which
// its flags say, in order: tiles and counts as FilterPass has them, `tiles` apart. `first`: at
// least view.first.
inline constexpr std::int64_t most_listed_tiles = 1 << 18;
void list_tiles(const ClusterView& view, const std::uint8_t* flags, std::int64_t groups,
                std::int64_t first, std::int64_t tiles, std::uint32_t* out, std::uint32_t* counts,
                cudaStream_t stream);

}  // namespace kith::gpu
