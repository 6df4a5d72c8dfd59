// Trees of metrics with the sum of squared differences as distance key.
#include "gpu/tree/ball.cuh"
#include "gpu/tree/traverse.cuh"
#include "metric/sqeuclidean.h"

namespace kith::gpu {

TreeSearch tree_of_squares() {
    using M = metric::SqEuclidean;
    return {TraverseLaunch<M>::visit, TraverseLaunch<M>::homes, BallLaunch<M>::balls};
}

}  // namespace kith::gpu
