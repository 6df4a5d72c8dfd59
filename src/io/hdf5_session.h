// What every use of the HDF5 library needs: one thread at a time, no printing, handles that close
// themselves.
#pragma once

#ifndef KITH_NO_HDF5
// Names without a version number mean those of 1.10, in newer libraries too.
#define H5_USE_110_API
#include <hdf5.h>
#endif

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/format.h"
#include "io/input.h"
#include "io/process_mutex.h"

namespace kith::io {

#ifdef KITH_NO_HDF5
// Enough to declare with: hdf5_absent.cpp refuses every file.
using hid_t = std::int64_t;
using herr_t = int;
#else
// Held during every call to the library, which is not thread-safe; silences its error stack
// meanwhile. Handles must be closed while one is held.
class Hdf5Session {
public:
    Hdf5Session() : lock_(mutex, "HDF5") {
        H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~Hdf5Session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
    Hdf5Session(const Hdf5Session&) = delete;
    Hdf5Session& operator=(const Hdf5Session&) = delete;

private:
    static ProcessMutex mutex;
    ProcessLock lock_;
    H5E_auto2_t print_ = nullptr;
    void* data_ = nullptr;
};
#endif

class Hdf5Handle {
public:
    using Close = herr_t (*)(hid_t);
    Hdf5Handle() = default;
    Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
    Hdf5Handle(Hdf5Handle&& other) noexcept
        : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    // Keeps the library's error stack, which any call empties: what it says may be asked for after
    // this one.
    ~Hdf5Handle();

    // NOLINTNEXTLINE(google-explicit-constructor): the library takes handles as numbers
    operator hid_t() const { return id_; }
    bool valid() const { return id_ >= 0; }
    herr_t reset() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

private:
    hid_t id_ = -1;
    Close close_ = nullptr;
};

// The file type of an element type, little-endian; invalid for bf16.
Hdf5Handle hdf5_type(ElementType type);

// "what: reason", or "what" where the library's error stack says nothing of use, for a message. Its
// own texts, which hold addresses of memory, are not shown.
std::string hdf5_why(std::string_view what);

#ifndef KITH_NO_HDF5
// A text attribute of a file, called `path` in messages; nothing where there is none. Throws
// bad_file where it is no one text.
std::optional<std::string> hdf5_text(const std::string& path, hid_t file, const char* name);
#endif

// Opens a file to read, without locking it: reading must work where locks do not. Throws bad_file.
Hdf5Handle hdf5_open_file(const OpenFile& file);

}  // namespace kith::io
