// Radius searches of arrays, on points or on an Index.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "kith/kith.h"
#include "missing.h"
#include "settings.h"

namespace kith::python {

// A call's arguments next to points: queries, or None for the points among themselves; a radius, or a (q, 1) array of
// f64 and then the radius counts for nothing.
struct RadiusAsk {
    nanobind::handle queries;
    double r;
    nanobind::handle radii;
    bool open;
    bool include_self;
};

// (offsets, indices, distances, report), and (counts, report), of numpy arrays.
nanobind::tuple radius_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings);
nanobind::tuple radius_counts_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings);

// Rows go to `to` as they are found: a callable of (first, distances, indices, offsets), or the path of a sparse
// matrix.
CountedReport radius_blocks_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings,
                                     nanobind::handle to);

// The module's functions `radius`, `radius_blocks` and `radius_counts`, and those of shards.
void add_radius(nanobind::module_& module);

}  // namespace kith::python
