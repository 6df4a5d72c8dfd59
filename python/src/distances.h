// kith::distances for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

// Defines `distances` in the module.
void add_distances(nanobind::module_& module);

}  // namespace kith::python
