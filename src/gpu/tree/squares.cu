// Trees of metrics whose distance key is the sum of the squared differences.
#include "gpu/tree/traverse.cuh"
#include "metric/sqeuclidean.h"

namespace kith::gpu {

TreeSearch tree_of_squares() {
    return TraverseLaunch<metric::SqEuclidean>::table();
}

}  // namespace kith::gpu
