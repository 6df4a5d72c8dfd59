// Euclidean distance: ordered by the sum of squares, reported as its root.
#pragma once

#include "metric/sqeuclidean.h"

namespace kith::metric {

struct Euclidean : SqEuclidean {
    static constexpr Traits traits{
        .gemm = Gemm::l2, .direct = Direct::squares, .monotone = true, .root = Root::square};
    using Keys = SqEuclidean;
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank);
    }
};

}  // namespace kith::metric
