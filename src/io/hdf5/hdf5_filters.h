// The filters of HDF5 data sets: which of them this process runs, and the size of decoded chunks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_session.h"

namespace kith::io {

struct Hdf5Filter {
    H5Z_filter_t id;
    std::vector<unsigned> values;  // the filter's parameters
};

// h5py's filter, from HDF5's registry.
constexpr H5Z_filter_t hdf5_lzf = 32000;

// Registers the filters that the library lacks.
void hdf5_register_filters();

// The filters of a data set called `name`, in the order of writing. They must be scale-offset,
// shuffle, deflate or lzf, each at most once and in this order; fletcher32 may stand anywhere.
// Throws bad_file otherwise.
std::vector<Hdf5Filter> hdf5_filters(const std::string& name, hid_t properties);

// An upper bound on the ratio of a chunk's content to its stored size.
std::int64_t hdf5_largest_expansion(const std::vector<Hdf5Filter>& filters);

// The number of bytes that a chunk decodes to; -1 if it cannot be decoded. `expected`: the right
// size, beyond which nothing is decoded. Bit i of `skipped`: filter i was not applied.
std::int64_t hdf5_decoded_size(const std::vector<Hdf5Filter>& filters, std::uint32_t skipped,
                               std::vector<std::uint8_t> stored, std::int64_t element_bytes,
                               std::int64_t expected);

}  // namespace kith::io
