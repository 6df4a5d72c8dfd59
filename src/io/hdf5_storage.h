// Where the bytes of an HDF5 data set lie, and whether all of them are there: the library itself
// takes what is not for zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5_filters.h"
#include "io/hdf5_session.h"
#include "io/input.h"

namespace kith::io {

// An open data set.
struct Hdf5Data {
    std::string name;  // FILE/DATASET, for messages
    OpenFile file;
    Hdf5Handle handle{};  // of the file
    Hdf5Handle dataset{};
    std::vector<hsize_t> shape{};
    std::vector<hsize_t> chunk{};       // the shape of a chunk; empty where there are none
    std::vector<Hdf5Filter> filters{};  // in the order of writing
    std::int64_t element_bytes = 0;     // in the file
    std::int64_t chunk_bytes = 0;
};

// Throws bad_file unless the data lie in this file, unfiltered or by filters that only this
// process' own libraries run, and can be as many as the shape says. Fills in chunk, filters,
// chunk_bytes.
void require_storage(Hdf5Data& data, const FileInfo& info);

// Throws bad_file unless every chunk of rows [first, first + count) was written and decodes to its
// whole size.
void require_chunks(const Hdf5Data& data, std::int64_t first, std::int64_t count);

}  // namespace kith::io
