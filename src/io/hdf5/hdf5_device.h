// Gives the HDF5 library access to a file being written, by descriptor, and hides failures from it.
#pragma once

#include <cstdint>

#include "io/hdf5/hdf5_session.h"
#include "io/output.h"

namespace kith::io {

// The library does not survive a failure to close a file: it tries again at process exit, and
// crashes. Therefore a write failure is recorded here, later writes are discarded, and the library
// sees success.
class Hdf5Device {
public:
    explicit Hdf5Device(const PendingFile& file) : file_(file) {}

    // Opens the file, empty or not, to read and write. Invalid if the library cannot read its
    // contents.
    Hdf5Handle open();
    // Throws bad_file if a write has failed.
    void require_written() const;

    // Called by the library, which does not support exceptions.
    std::int64_t size() const;
    void write(std::int64_t offset, const std::byte* bytes, std::size_t count);
    void resize(std::int64_t size);
    const PendingFile& file() const { return file_; }

private:
    const PendingFile& file_;
    int error_ = 0;
    std::int64_t offset_ = 0;  // of the failure
};

}  // namespace kith::io
