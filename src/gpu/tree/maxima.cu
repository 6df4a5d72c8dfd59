// Trees of metrics with the largest difference as distance key.
#include "gpu/tree/ball.cuh"
#include "gpu/tree/traverse.cuh"
#include "metric/chebyshev.h"

namespace kith::gpu {

TreeSearch tree_of_maxima() {
    using M = metric::Chebyshev;
    return {TraverseLaunch<M>::visit, TraverseLaunch<M>::homes, BallLaunch<M>::balls};
}

}  // namespace kith::gpu
