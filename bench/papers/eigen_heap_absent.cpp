// A build without Eigen.
#include "kith/error.h"
#include "papers/eigen_heap.h"

namespace kith::bench::papers {

std::string eigen_missing() {
    return "this build has no Eigen (Debian: libeigen3-dev, or scripts/install-deps bench)";
}

double eigen_search(const float*, std::int64_t, const float*, std::int64_t, std::int64_t, std::int64_t, int,
                    std::int64_t*) {
    throw Error(ErrorCode::device, eigen_missing());
}

}  // namespace kith::bench::papers
