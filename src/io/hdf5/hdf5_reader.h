// Opens HDF5 files for reading, through the descriptor of an OpenFile.
#pragma once

#include "io/hdf5/hdf5_session.h"

namespace kith::io {

// Invalid if the library rejects the file. Takes no lock: reading must work where locks do not.
Hdf5Handle hdf5_open_to_read(const OpenFile& file);

}  // namespace kith::io
