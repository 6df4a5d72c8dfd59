// Addresses, reading and tables of functions of the HDF5 library's file drivers.
#include "io/hdf5_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kith::io {

haddr_t hdf5_end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
    return hdf5_driver_file<Hdf5DriverFile>(file)->end_of_addresses;
}

herr_t hdf5_set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    hdf5_driver_file<Hdf5DriverFile>(file)->end_of_addresses = end;
    return 0;
}

haddr_t hdf5_end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return hdf5_driver_file<Hdf5DriverFile>(file)->end_of_file;
}

Hdf5Handle hdf5_access(const H5FD_class_t& driver, std::atomic<hid_t>& registered,
                       const void* info) {
    if (registered < 0) registered = H5FDregister(&driver);
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (H5Pset_driver(access, registered, info) < 0) return {};
    return access;
}

bool hdf5_read_at(int descriptor, haddr_t offset, void* out, std::size_t count) {
    auto* to = static_cast<char*>(out);
    if (offset > static_cast<haddr_t>(INT64_MAX) - count) {
        errno = EINVAL;
        return false;
    }
    while (count > 0) {
        const ssize_t got = ::pread(descriptor, to, count, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) {
            std::fill_n(to, count, '\0');
            return true;
        }
        to += got;
        offset += static_cast<haddr_t>(got);
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace kith::io
