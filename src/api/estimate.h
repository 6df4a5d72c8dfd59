// Estimates a metric's parameter from points, for the caller, outside a search.
#pragma once

#include <vector>

#include "api/check/validate.h"
#include "api/guard.h"
#include "api/request.h"
#include "exact/report/progress.h"

namespace kith::api {

// Returns estimated(points, threads, progress); checks the points first.
template <class Estimated>
std::vector<double> estimate(const MatrixView& points, const Options& options,
                             const Estimated& estimated) {
    return guarded([&] {
        check_view(points, "points");
        ProgressMeter progress(options.progress, 0);
        return estimated(points, threads_of(options), progress);
    });
}

}  // namespace kith::api
