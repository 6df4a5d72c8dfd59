// Many small searches at once.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

// The module's functions `search_batches` and `search_clouds`.
void add_batches(nanobind::module_& module);

}  // namespace kith::python
