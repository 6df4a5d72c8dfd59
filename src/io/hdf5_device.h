// How the HDF5 library reaches a file being written: through its descriptor, and without learning
// of a failure.
#pragma once

#include <cstdint>

#include "io/hdf5_session.h"
#include "io/output.h"

namespace kith::io {

// The library does not survive that closing a file fails: it tries again when the process ends, and
// crashes. So a failure to write is kept here, what comes after it goes nowhere, and the library
// goes on in peace.
class Hdf5Device {
public:
    explicit Hdf5Device(const PendingFile& file) : file_(file) {}

    // Opens the file, empty or not, to read and write. Invalid where the library cannot read what
    // it holds.
    Hdf5Handle open();
    // Throws bad_file if something could not be written.
    void require_written() const;

    // For the library, which knows no exceptions.
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
