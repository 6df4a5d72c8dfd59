// The filters of HDF5 data sets: which of them this process runs, and what chunks decode to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5_session.h"

namespace kith::io {

struct Hdf5Filter {
    H5Z_filter_t id;
    std::vector<unsigned> values;  // its parameters
};

// h5py's, of HDF5's registry.
constexpr H5Z_filter_t hdf5_lzf = 32000;

// Gives the library the filters that it does not have.
void hdf5_register_filters();

// The filters of a data set called `name`, in the order of writing. Throws bad_file unless they
// are, each at most once and in this order, scale-offset, shuffle, deflate or lzf; fletcher32 may
// stand anywhere.
std::vector<Hdf5Filter> hdf5_filters(const std::string& name, hid_t properties);

// How many times larger than a chunk, as it is stored, its content may be.
std::int64_t hdf5_largest_expansion(const std::vector<Hdf5Filter>& filters);

// The bytes to which a chunk of elements of so many bytes decodes; -1 where it does not.
// `expected`: what it should be, beyond which nothing is decoded. Bit i of `skipped`: filter i was
// left out.
std::int64_t hdf5_decoded_size(const std::vector<Hdf5Filter>& filters, std::uint32_t skipped,
                               std::vector<std::uint8_t> stored, std::int64_t element_bytes,
                               std::int64_t expected);

}  // namespace kith::io
