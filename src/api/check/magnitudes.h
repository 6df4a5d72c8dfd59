// The magnitudes of coordinates and their consequences for a metric: rows that have to be scaled,
// and distance keys that may leave binary64's range (docs/proofs/filter.md, lemma 4).
#pragma once

#include <cstddef>
#include <vector>

#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "gpu/backend.h"
#include "kith/types.h"

namespace kith::api {

// The magnitudes of some coordinates, and a number that all are integer multiples of.
struct Extent {
    Magnitudes magnitudes;
    double unit = 1;
};
// The extent of both together.
Extent join(const Extent& a, const Extent& b);

// The extent of a view's rows. For a metric without a root, or with keys that hold any value of the
// view's type, the extent of the type.
Extent extent_of(const MatrixView& view, const MetricSpec& metric, int threads,
                 ProgressMeter& progress);

// The sides on which distance keys of pairs within the extent may leave the range that keys
// represent (exact/wide_key.h).
struct KeyRange {
    bool below = false, above = false;
    bool is_left() const { return below || above; }
};
KeyRange key_range(const MetricSpec& metric, const Extent& extent);

// The rows in the form for a metric with Traits::scale_free. If a row's largest magnitude is
// outside 2^-200 ... 2^200, the row is multiplied by the power of two that brings it to 1 ... 2, in
// a host copy of all rows. Otherwise, and for other metrics, the view itself; `storage` stays
// empty.
MatrixView scaled_rows(const MatrixView& view, const MetricSpec& metric, int threads,
                       ProgressMeter& progress, std::vector<double>& storage);

}  // namespace kith::api
