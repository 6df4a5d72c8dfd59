// Tensors described by DLPack's C functions.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "matrix.h"

namespace kith::python {

// A tensor as it lies there. With a stream, a number of Python's, it is an input: read in place, on a device after what
// fills it. None where that takes more: another library, a copy, another stream than the tensor's library works on.
std::optional<ArrayInterface> described(nanobind::handle array, nanobind::handle stream = {});

void add_exchange(nanobind::module_& module);

}  // namespace kith::python
