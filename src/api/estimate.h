// A metric's parameter, estimated from points for the caller alone: outside of a search.
#pragma once

#include <vector>

#include "api/guard.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/progress.h"

namespace kith::api {

// estimated(points, threads, progress) of points that are checked here.
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
