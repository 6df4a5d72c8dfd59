// The metric of an ann-benchmarks file: in its word where it has one, and in kith's own beside it.
#pragma once

#include "io/hdf5_session.h"

namespace kith::io {

// Writes the attributes distance, kith_metric and the metric's parameters. Throws bad_file.
void write_metric(hid_t file, const Target& target, const Metric& metric);

// A scalar attribute of the file. Throws bad_file.
void write_attribute(hid_t file, const Target& target, const char* name, hid_t type, const void* value);
// As h5py stores a str: UTF-8 of variable length.
void write_text(hid_t file, const Target& target, const char* name, const std::string& text);

}  // namespace kith::io
