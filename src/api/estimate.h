// A metric's parameter, estimated from points for the caller alone: outside of a search, without progress.
#pragma once

#include <functional>
#include <vector>

#include "api/guard.h"
#include "api/validate.h"
#include "exact/progress.h"
#include "machine/parallel.h"

namespace kith::api {

// estimated(points, threads, progress) of points that are checked here.
template <class Estimated>
std::vector<double> estimate(const MatrixView& points, const Estimated& estimated) {
    return guarded([&] {
        check_view(points, "points");
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        return estimated(points, machine::default_threads(), progress);
    });
}

}  // namespace kith::api
