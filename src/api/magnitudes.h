// How large and how small coordinates are, and what follows of it for a metric: rows that have to
// be scaled, distance keys that binary64 may not hold (docs/exactness.md, sections 1 and 4).
#pragma once

#include <cstddef>
#include <vector>

#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "gpu/backend.h"
#include "kith/types.h"

namespace kith::api {

// The magnitudes of some coordinates, and a number that all of these are whole multiples of.
struct Extent {
    Magnitudes magnitudes;
    double unit = 1;
};
// Of both.
Extent join(const Extent& a, const Extent& b);

// Of the rows of a view; of a metric without a root, or one whose keys hold any value of the view's
// type, those of the type.
Extent extent_of(const MatrixView& view, const MetricSpec& metric, int threads,
                 ProgressMeter& progress);

// On which sides distance keys of pairs within that extent may leave the range in which they say
// all (exact/wide_key.h).
struct KeyRange {
    bool below = false, above = false;
    bool is_left() const { return below || above; }
};
KeyRange key_range(const MetricSpec& metric, const Extent& extent);

// The rows as a metric with Traits::scale_free takes them: those whose largest magnitude is outside
// of 2^-200 ... 2^200 are multiplied by the power of two that brings it to 1 ... 2, in a copy of
// all on the host. Else, and of another metric, the view itself (`storage` stays empty).
MatrixView scaled_rows(const MatrixView& view, const MetricSpec& metric, int threads,
                       ProgressMeter& progress, std::vector<double>& storage);

}  // namespace kith::api
