// The parts of kith._core that have files of their own.
#pragma once

#include <nanobind/nanobind.h>

namespace kith::python {

void add_shards(nanobind::module_& module);
void add_groundtruth(nanobind::module_& module);
void add_plan(nanobind::module_& module);
void add_recommend(nanobind::module_& module);
void add_retrieval(nanobind::module_& module);
void add_verify(nanobind::module_& module);

}  // namespace kith::python
