// Addresses, reading and tables of functions of the HDF5 library's file drivers.
#include "io/hdf5_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kith::io {

namespace {

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
    return hdf5_driver_file<Hdf5DriverFile>(file)->end_of_addresses;
}

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    hdf5_driver_file<Hdf5DriverFile>(file)->end_of_addresses = end;
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return hdf5_driver_file<Hdf5DriverFile>(file)->end_of_file;
}

}  // namespace

H5FD_class_t hdf5_driver(const char* name, int number, std::size_t info_bytes) {
    H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
    driver.version = H5FD_CLASS_VERSION;
    driver.value = static_cast<H5FD_class_value_t>(number);
#else
    static_cast<void>(number);
#endif
    driver.name = name;
    driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = info_bytes;
    driver.get_eoa = end_of_addresses;
    driver.set_eoa = set_end_of_addresses;
    driver.get_eof = end_of_file;
    static constexpr H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), driver.fl_map);
    return driver;
}

Hdf5Handle hdf5_access(const H5FD_class_t& driver, std::atomic<hid_t>& registered, const void* info) {
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
