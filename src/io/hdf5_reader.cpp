// A file driver of the HDF5 library that reads from the descriptor of an OpenFile.
#include "io/hdf5_reader.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

#include "io/hdf5_driver.h"

namespace kith::io {
namespace {

// What opening takes: kept by value in the library's property list.
struct Opening {
    int descriptor;
    std::int64_t size;
};

struct DriverFile : Hdf5DriverFile {
    int descriptor;  // its own
};

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
    const auto* source = static_cast<const Opening*>(H5Pget_driver_info(access));
    if (!source) return nullptr;
    auto* file = new (std::nothrow) DriverFile{};
    if (!file) return nullptr;
    file->descriptor = ::dup(source->descriptor);
    file->end_of_file = static_cast<haddr_t>(source->size);
    if (file->descriptor >= 0) return &file->library;
    delete file;
    return nullptr;
}

herr_t close_file(H5FD_t* file) {
    auto* const own = hdf5_driver_file<DriverFile>(file);
    ::close(own->descriptor);
    delete own;
    return 0;
}

// Two openings of a file are two files: nothing is shared between them.
int compare_files(const H5FD_t* a, const H5FD_t* b) {
    return hdf5_driver_file<DriverFile>(a)->descriptor -
           hdf5_driver_file<DriverFile>(b)->descriptor;
}

// Not H5FD_FEAT_ACCUMULATE_METADATA: libhdf5 1.10 adds up addresses there that a damaged file makes
// wrap around, and reads at what comes out.
herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count, void* out) {
    if (hdf5_read_at(hdf5_driver_file<DriverFile>(file)->descriptor, offset, out, count)) return 0;
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR,
             "errno = %d", errno);
    return -1;
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
    return -1;
}

constinit std::atomic<hid_t> registered{-1};

constexpr H5FD_class_t make_driver() {
    H5FD_class_t driver = hdf5_driver("kith_read", 510, sizeof(Opening));
    driver.open = open_file;
    driver.close = close_file;
    driver.cmp = compare_files;
    driver.query = query;
    driver.read = read_file;
    driver.write = refuse_to_write;
    return driver;
}

}  // namespace

Hdf5Handle hdf5_open_to_read(const OpenFile& file) {
    static constexpr H5FD_class_t driver = make_driver();
    const Opening source{file.descriptor(), file.size()};
    const Hdf5Handle access = hdf5_access(driver, registered, &source);
    if (!access.valid()) return {};
    // The name is for the library's own messages and tables.
    return {H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access), H5Fclose};
}

}  // namespace kith::io
