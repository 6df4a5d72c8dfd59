// Trees of metrics whose distance key is the sum of the squared differences.
#include "gpu/tree/ball.cuh"
#include "gpu/tree/traverse.cuh"
#include "metric/sqeuclidean.h"

namespace kith::gpu {

TreeSearch tree_of_squares() {
    using M = metric::SqEuclidean;
    return {TraverseLaunch<M>::visit, TraverseLaunch<M>::homes, BallLaunch<M>::balls};
}

}  // namespace kith::gpu
