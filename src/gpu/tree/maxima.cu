// Trees of metrics whose distance key is the largest difference.
#include "gpu/tree/traverse.cuh"
#include "metric/chebyshev.h"

namespace kith::gpu {

TreeSearch tree_of_maxima() {
    return TraverseLaunch<metric::Chebyshev>::table();
}

}  // namespace kith::gpu
