// Locates the bytes of an HDF5 data set and checks that all exist: the library itself reads missing
// bytes as zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_filters.h"
#include "io/hdf5/hdf5_session.h"
#include "io/input.h"

namespace kith::io {

// An open data set.
struct Hdf5Data {
    std::string name;  // FILE/DATASET, for messages
    OpenFile file;
    Hdf5Handle handle{};  // of the file
    Hdf5Handle dataset{};
    std::vector<hsize_t> shape{};
    std::vector<hsize_t> chunk{};       // the shape of a chunk; empty if not chunked
    std::vector<Hdf5Filter> filters{};  // in the order of writing
    std::int64_t element_bytes = 0;     // in the file
    std::int64_t chunk_bytes = 0;
};

// Throws bad_file unless the data are in this file, unfiltered or filtered only by this process'
// own libraries, and can be as many as the shape implies. Fills in chunk, filters, chunk_bytes.
void require_storage(Hdf5Data& data, const FileInfo& info);

// Throws bad_file unless every chunk of rows [first, first + count) was written and decodes to its
// full size.
void require_chunks(const Hdf5Data& data, std::int64_t first, std::int64_t count);

}  // namespace kith::io
