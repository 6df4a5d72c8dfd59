// What kith's two file drivers of the HDF5 library have in common: addresses, reading, their table
// of functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "io/hdf5_session.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace kith::io {

// What the library holds of an open file; a driver's own derives from it.
struct Hdf5DriverFile {
    H5FD_t library;  // must be first
    haddr_t end_of_addresses;
    haddr_t end_of_file;
};

template <class File>
File* hdf5_driver_file(H5FD_t* file) {
    return static_cast<File*>(reinterpret_cast<Hdf5DriverFile*>(file));
}
template <class File>
const File* hdf5_driver_file(const H5FD_t* file) {
    return static_cast<const File*>(reinterpret_cast<const Hdf5DriverFile*>(file));
}

haddr_t hdf5_end_of_addresses(const H5FD_t* file, H5FD_mem_t);
herr_t hdf5_set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end);
haddr_t hdf5_end_of_file(const H5FD_t* file, H5FD_mem_t);

// A driver that keeps addresses as above; open, close, cmp, query, read and write are still to be
// set. `number` is one of those for a program's own use; `info_bytes` is the size of what opening
// takes, which the library copies.
constexpr H5FD_class_t hdf5_driver(const char* name, [[maybe_unused]] int number,
                                   std::size_t info_bytes) {
    H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
    driver.version = H5FD_CLASS_VERSION;
    driver.value = static_cast<H5FD_class_value_t>(number);
#endif
    driver.name = name;
    driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = info_bytes;
    driver.get_eoa = hdf5_end_of_addresses;
    driver.set_eoa = hdf5_set_end_of_addresses;
    driver.get_eof = hdf5_end_of_file;
    constexpr H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), driver.fl_map);
    return driver;
}

// Access to files through `driver`, which must live as long as the process; opening is given
// `info`. `registered` is -1 at first. The driver stays registered: of one whose last file is
// closed, the library frees what it calls next. Invalid where the library refuses it.
Hdf5Handle hdf5_access(const H5FD_class_t& driver, std::atomic<hid_t>& registered,
                       const void* info);

// Reads at an offset; what lies behind the end of the file is zeros, as the library's addresses go
// beyond it. False, with errno, where the system cannot read.
bool hdf5_read_at(int descriptor, haddr_t offset, void* out, std::size_t count);

}  // namespace kith::io
