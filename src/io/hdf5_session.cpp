// The HDF5 library's lock, types and writing.
#include "io/hdf5_session.h"

#include "io/errors.h"

namespace kith::io {

std::recursive_mutex& Hdf5Session::mutex() {
    static std::recursive_mutex one;
    return one;
}

Hdf5Handle hdf5_type(ElementType type) {
    switch (type) {
        case ElementType::f32:
            return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
        case ElementType::f64:
            return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
        case ElementType::i8:
            return {H5Tcopy(H5T_STD_I8LE), H5Tclose};
        case ElementType::u8:
            return {H5Tcopy(H5T_STD_U8LE), H5Tclose};
        case ElementType::i32:
            return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
        case ElementType::i64:
            return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
        case ElementType::f16: {
            // IEEE binary16, laid out as h5py does: the library has no name for it.
            Hdf5Handle half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
            H5Tset_fields(half, 15, 10, 5, 0, 10);
            H5Tset_size(half, 2);
            H5Tset_ebias(half, 15);
            return half;
        }
        case ElementType::bf16:
            break;
    }
    return {};
}

std::string hdf5_why(std::string_view what) {
    std::string reason;
    const auto innermost = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
        if (entry->desc) *static_cast<std::string*>(out) = entry->desc;
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, &reason);
    return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
}

Hdf5Handle hdf5_create_file(const Target& target) {
    Hdf5Handle file(H5Fcreate(target.temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    if (!file.valid()) bad_file(target.file, hdf5_why("cannot create an HDF5 file"));
    return file;
}

Hdf5Handle hdf5_create_dataset(hid_t file, const Target& target, const std::string& dataset, const FileInfo& info) {
    const hsize_t shape[2] = {static_cast<hsize_t>(info.rows), static_cast<hsize_t>(info.cols)};
    const Hdf5Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose);
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links, 1);
    const Hdf5Handle type = hdf5_type(info.type);
    Hdf5Handle created(H5Dcreate2(file, dataset.c_str(), type, space, links, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    if (!created.valid()) bad_file(target.file, hdf5_why(fmt::format("cannot create the data set {}", dataset)));
    return created;
}

void hdf5_write_rows(hid_t dataset, const Target& target, const FileInfo& info, std::int64_t first, std::int64_t count,
                     const void* rows) {
    const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
    const hsize_t extent[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(info.cols)};
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(2, extent, nullptr), H5Sclose);
    const Hdf5Handle type = hdf5_type(info.type);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, extent, nullptr);
    if (H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows) < 0) {
        bad_file(target.file, hdf5_why(fmt::format("cannot write rows {} to {}", first, first + count - 1)));
    }
}

}  // namespace kith::io
