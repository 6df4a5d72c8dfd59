// A file driver of the HDF5 library over the descriptor of a PendingFile.
#include "io/hdf5_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "io/errors.h"
#include "io/hdf5_driver.h"

namespace kith::io {
namespace {

struct DriverFile : Hdf5DriverFile {
    Hdf5Device* device;
};

DriverFile* of(H5FD_t* file) {
    return hdf5_driver_file<DriverFile>(file);
}
const DriverFile* of(const H5FD_t* file) {
    return hdf5_driver_file<DriverFile>(file);
}

H5FD_t* open_file(const char*, unsigned flags, hid_t access, haddr_t) {
    const auto* device = static_cast<Hdf5Device* const*>(H5Pget_driver_info(access));
    if (!device) return nullptr;
    if (flags & H5F_ACC_TRUNC) (*device)->resize(0);
    auto* file = new (std::nothrow) DriverFile{};
    if (!file) return nullptr;
    file->device = *device;
    file->end_of_file = static_cast<haddr_t>((*device)->size());
    return &file->library;
}

herr_t close_file(H5FD_t* file) {
    delete of(file);
    return 0;
}

int compare_files(const H5FD_t* a, const H5FD_t* b) {
    const auto* left = &of(a)->device->file();
    const auto* right = &of(b)->device->file();
    return left == right ? 0 : std::less<>()(left, right) ? -1 : 1;
}

// As of the library's own driver of files, but for what it does not survive (hdf5_reader.cpp).
herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count, void* out) {
    return hdf5_read_at(of(file)->device->file().descriptor(), offset, out, count) ? 0 : -1;
}

herr_t write_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count,
                  const void* bytes) {
    of(file)->device->write(static_cast<std::int64_t>(offset), static_cast<const std::byte*>(bytes),
                            count);
    of(file)->end_of_file = std::max(of(file)->end_of_file, offset + count);
    return 0;
}

herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
    if (of(file)->end_of_file != of(file)->end_of_addresses) {
        of(file)->device->resize(static_cast<std::int64_t>(of(file)->end_of_addresses));
        of(file)->end_of_file = of(file)->end_of_addresses;
    }
    return 0;
}

constinit std::atomic<hid_t> registered{-1};

constexpr H5FD_class_t make_driver() {
    H5FD_class_t driver = hdf5_driver("kith", 511, sizeof(void*));  // given an Hdf5Device
    driver.open = open_file;
    driver.close = close_file;
    driver.cmp = compare_files;
    driver.query = query;
    driver.read = read_file;
    driver.write = write_file;
    driver.truncate = truncate_file;
    return driver;
}

}  // namespace

Hdf5Handle Hdf5Device::open() {
    static constexpr H5FD_class_t driver = make_driver();
    Hdf5Device* self = this;
    const Hdf5Handle access = hdf5_access(driver, registered, &self);
    if (!access.valid()) return {};
    // The name is for the library's own messages and tables.
    const char* path = file_.temporary().c_str();
    return {size() > 0 ? H5Fopen(path, H5F_ACC_RDWR, access)
                       : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access),
            H5Fclose};
}

void Hdf5Device::require_written() const {
    if (error_ == 0) return;
    bad_file(file_.file(),
             fmt::format("offset {}: cannot write: {}", offset_, std::strerror(error_)));
}

std::int64_t Hdf5Device::size() const {
    struct stat found {};
    return ::fstat(file_.descriptor(), &found) == 0 ? found.st_size : 0;
}

void Hdf5Device::write(std::int64_t offset, const std::byte* bytes, std::size_t count) {
    while (count > 0 && error_ == 0) {
        const ssize_t put = ::pwrite(file_.descriptor(), bytes, count, offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            error_ = errno;
            offset_ = offset;
            return;
        }
        bytes += put;
        offset += put;
        count -= static_cast<std::size_t>(put);
    }
}

void Hdf5Device::resize(std::int64_t size) {
    if (error_ == 0 && ::ftruncate(file_.descriptor(), size) != 0) {
        error_ = errno;
        offset_ = size;
    }
}

}  // namespace kith::io
