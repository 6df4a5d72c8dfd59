// A file driver of the HDF5 library over the descriptor of a PendingFile.
#include "io/hdf5_device.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "io/errors.h"

namespace kith::io {
namespace {

// What the library holds of an open file.
struct DriverFile {
    H5FD_t library;  // must be first
    Hdf5Device* device;
    haddr_t end_of_addresses;
    haddr_t end_of_file;
};

DriverFile* of(H5FD_t* file) {
    return reinterpret_cast<DriverFile*>(file);
}
const DriverFile* of(const H5FD_t* file) {
    return reinterpret_cast<const DriverFile*>(file);
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

// As of the library's own driver of files.
herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
    return of(file)->end_of_addresses;
}

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    of(file)->end_of_addresses = end;
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return of(file)->end_of_file;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count, void* out) {
    return of(file)->device->read(static_cast<std::int64_t>(offset), static_cast<std::byte*>(out), count) ? 0 : -1;
}

herr_t write_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count, const void* bytes) {
    of(file)->device->write(static_cast<std::int64_t>(offset), static_cast<const std::byte*>(bytes), count);
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

H5FD_class_t make_driver() {
    H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
    driver.version = H5FD_CLASS_VERSION;
    driver.value = static_cast<H5FD_class_value_t>(511);  // of those for a program's own use
#endif
    driver.name = "kith";
    driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = sizeof(void*);  // of an Hdf5Device
    driver.open = open_file;
    driver.close = close_file;
    driver.cmp = compare_files;
    driver.query = query;
    driver.get_eoa = end_of_addresses;
    driver.set_eoa = set_end_of_addresses;
    driver.get_eof = end_of_file;
    driver.read = read_file;
    driver.write = write_file;
    driver.truncate = truncate_file;
    static constexpr H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), driver.fl_map);
    return driver;
}

}  // namespace

Hdf5Handle Hdf5Device::open() {
    static const H5FD_class_t driver = make_driver();
    const Hdf5Handle id(H5FDregister(&driver), H5FDunregister);
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    Hdf5Device* self = this;
    if (H5Pset_driver(access, id, &self) < 0) return {};
    // The name is for the library's own messages and tables.
    const char* path = file_.temporary().c_str();
    return {size() > 0 ? H5Fopen(path, H5F_ACC_RDWR, access) : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access),
            H5Fclose};
}

void Hdf5Device::require_written() const {
    if (error_ == 0) return;
    bad_file(file_.file(), fmt::format("offset {}: cannot write: {}", offset_, std::strerror(error_)));
}

std::int64_t Hdf5Device::size() const {
    struct stat found {};
    return ::fstat(file_.descriptor(), &found) == 0 ? found.st_size : 0;
}

bool Hdf5Device::read(std::int64_t offset, std::byte* out, std::size_t count) {
    while (count > 0) {
        const ssize_t got = ::pread(file_.descriptor(), out, count, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) {
            std::fill_n(out, count, std::byte{0});  // the library's addresses go beyond what is written
            return true;
        }
        out += got;
        offset += got;
        count -= static_cast<std::size_t>(got);
    }
    return true;
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
