// The HDF5 library's lock, types and reasons.
#include "io/hdf5_session.h"

#include <cerrno>
#include <charconv>
#include <cstring>

#include "io/errors.h"
#include "io/hdf5_filters.h"
#include "io/hdf5_reader.h"

namespace kith::io {
namespace {

// What an entry of the error stack says about the file; null where it says only that something
// within failed.
const char* meaning_of(const H5E_error2_t& entry) {
    if (entry.min_num == H5E_TRUNCATED || entry.min_num == H5E_OVERFLOW)
        return "a file that is cut short";
    if (entry.min_num == H5E_CANTFILTER || entry.maj_num == H5E_PLINE)
        return "a chunk that cannot be decoded";
    if (entry.min_num == H5E_NOSPACE || entry.min_num == H5E_CANTALLOC)
        return "a lack of memory or space";
    if (entry.min_num == H5E_VERSION) return "a version that the HDF5 library here does not know";
    return nullptr;
}

std::string reason_on_stack() {
    std::string reason;
    const auto look = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
        const std::string_view text = entry->desc ? entry->desc : "";
        // The driver's texts hold the system's refusal as a number.
        constexpr std::string_view mark = "errno = ";
        const std::size_t at = text.find(mark);
        int number = 0;
        if (at != std::string_view::npos) {
            std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
        }
        auto& found = *static_cast<std::string*>(out);
        if (number != 0) {
            found = std::strerror(number);
            return 1;
        }
        if (const char* meaning = meaning_of(*entry)) found = meaning;
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &reason);
    return reason;
}

}  // namespace

Hdf5Handle::~Hdf5Handle() {
    if (!valid()) return;
    const bool failed = H5Eget_num(H5E_DEFAULT) > 0;
    const hid_t stack = failed ? H5Eget_current_stack() : -1;
    reset();
    if (failed) H5Eset_current_stack(stack);
}

constinit ProcessMutex Hdf5Session::mutex;

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
    const std::string reason = reason_on_stack();
    return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
}

Hdf5Handle hdf5_open_file(const OpenFile& file) {
    hdf5_register_filters();
    Hdf5Handle opened = hdf5_open_to_read(file);
    if (!opened.valid()) {
        const std::string reason = reason_on_stack();
        bad_bytes(file.path(), 0, "an HDF5 file", reason.empty() ? "other data" : reason);
    }
    return opened;
}

}  // namespace kith::io
