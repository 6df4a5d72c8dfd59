// Trees of metrics whose distance key is the sum of the differences' magnitudes.
#include "gpu/tree/traverse.cuh"
#include "metric/cityblock.h"

namespace kith::gpu {

TreeSearch tree_of_sums() {
    return TraverseLaunch<metric::Cityblock>::table();
}

}  // namespace kith::gpu
