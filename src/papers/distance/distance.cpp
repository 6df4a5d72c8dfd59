// Distance kernels by name.
#include "papers/distance/distance.h"

#include <string>

#include "kith/error.h"

namespace kith::gpu {

void distance_matrix(std::string_view kernel, const DistanceJob& job) {
#define KITH_DISTANCES(function, name, values, what) \
    if (kernel == (name)) return function(job);
#include "papers/distance/distance_kernels.def"
#undef KITH_DISTANCES
    throw Error(ErrorCode::invalid_argument,
                "distances: '" + std::string(kernel) + "' is not in the list");
}

}  // namespace kith::gpu
