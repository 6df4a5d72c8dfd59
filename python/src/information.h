// The estimators of information for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

// Defines `entropy`, `kl_divergence`, `mutual_information`, `conditional_mutual_information` and `transfer_entropy` in
// the module; each returns (value, error, samples, left_out).
void add_information(nanobind::module_& module);

}  // namespace kith::python
