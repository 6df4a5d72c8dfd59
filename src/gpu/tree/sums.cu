// Trees of metrics with the sum of the differences' magnitudes as distance key.
#include "gpu/tree/ball.cuh"
#include "gpu/tree/traverse.cuh"
#include "metric/cityblock.h"

namespace kith::gpu {

TreeSearch tree_of_sums() {
    using M = metric::Cityblock;
    return {TraverseLaunch<M>::visit, TraverseLaunch<M>::homes, BallLaunch<M>::balls};
}

}  // namespace kith::gpu
