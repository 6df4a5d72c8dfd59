// Python's calls of the CUDA driver.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

// The module's functions `device_count`, `device_of` and `wait_for_stream`.
void add_devices(nanobind::module_& module);

}  // namespace kith::python
