// kith::match for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

// Defines `match` in the module; it returns pairs (m x 2, int64) and distances (m, float64), arrays of numpy.
void add_match(nanobind::module_& module);

}  // namespace kith::python
