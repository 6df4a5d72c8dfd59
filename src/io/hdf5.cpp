// HDF5 data sets as matrices, as ann-benchmarks keeps them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "io/errors.h"
#include "io/hdf5_session.h"
#include "io/hdf5_storage.h"
#include "io/input.h"

namespace kith::io {
namespace {

constexpr std::size_t listed_names = 51;  // more than a message shows

// The names of at most `most` data sets.
std::vector<std::string> names_in(hid_t file, std::size_t most) {
    struct Found {
        std::vector<std::string> names;
        std::size_t most;
    } found{{}, most};
    const auto collect = [](hid_t, const char* path, const H5O_info_t* info, void* out) -> herr_t {
        auto& all = *static_cast<Found*>(out);
        if (info->type == H5O_TYPE_DATASET) all.names.emplace_back(path);
        return all.names.size() < all.most ? 0 : 1;
    };
    // Of the type alone: asked for more, the library stops at the first object of a layout that it
    // does not know.
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, collect, &found, H5O_INFO_BASIC);
    return found.names;
}

// Follows hard links only: others may lead into other files.
bool is_inside(hid_t file, const std::string& dataset) {
    for (std::size_t end = 0; end != std::string::npos;) {
        end = dataset.find('/', end + 1);
        const std::string part = dataset.substr(0, end);
        H5L_info_t link;
        if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
        if (H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
            return false;
    }
    return true;
}

bool is_dataset(hid_t file, const std::string& path) {
    H5O_info_t object;
    return H5Oget_info_by_name2(file, path.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           object.type == H5O_TYPE_DATASET;
}

// Whether elements in the file are of that type, little- or big-endian.
bool is_stored_as(hid_t stored, hid_t little) {
    const Hdf5Handle big(H5Tcopy(little), H5Tclose);
    H5Tset_order(big, H5T_ORDER_BE);
    return H5Tequal(stored, little) > 0 || H5Tequal(stored, big) > 0;
}

// Integers that kith has no type of are read as the narrowest that holds them all, as npy's are.
std::optional<ElementType> element_type(hid_t stored) {
    for (const ElementType type :
         {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::i8, ElementType::u8,
          ElementType::i32, ElementType::i64}) {
        if (is_stored_as(stored, hdf5_type(type))) return type;
    }
    if (is_stored_as(stored, H5T_STD_I16LE) || is_stored_as(stored, H5T_STD_U16LE))
        return ElementType::f32;
    if (is_stored_as(stored, H5T_STD_U32LE) || is_stored_as(stored, H5T_STD_U64LE))
        return ElementType::i64;
    return {};
}

// h5py's booleans: an enumeration of 0 and 1 over a type of one byte.
bool is_boolean(hid_t stored) {
    if (H5Tget_class(stored) != H5T_ENUM || H5Tget_size(stored) != 1 ||
        H5Tget_nmembers(stored) != 2)
        return false;
    std::uint8_t values[2] = {};
    for (unsigned i = 0; i < 2; ++i) H5Tget_member_value(stored, i, &values[i]);
    return values[0] + values[1] == 1;
}

// A scalar attribute of the file; nothing where it has none, or one of another kind.
std::optional<std::int64_t> whole_attribute(hid_t file, const char* name) {
    if (H5Aexists(file, name) <= 0) return {};
    const Hdf5Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
    const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
    std::int64_t value = 0;
    if (!attribute.valid() || H5Tget_class(type) != H5T_INTEGER ||
        H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) {
        return {};
    }
    return value;
}

// What ann-benchmarks' attributes say of points and queries. Sets of different sizes, one behind
// the other, are no rows.
void require_description(const Hdf5Data& opened, const std::string& dataset, FileInfo& info) {
    if (dataset != "train" && dataset != "test") return;
    const std::string type = hdf5_text(opened.file.path(), opened.handle, "type").value_or("");
    if (type == "sparse" ||
        H5Lexists(opened.handle, ("size_" + dataset).c_str(), H5P_DEFAULT) > 0) {
        bad_file(opened.name,
                 "holds sets of different sizes (ann-benchmarks' type sparse); expected dense "
                 "rows, as of 0 "
                 "and 1 for jaccard");
    }
    if (!type.empty() && type != "dense")
        bad_file(opened.name, fmt::format("its attribute type is {}; expected dense", type));
    const std::optional<std::int64_t> dimension = whole_attribute(opened.handle, "dimension");
    const std::string point_type =
        hdf5_text(opened.file.path(), opened.handle, "point_type").value_or("");
    const bool is_float = info.type == ElementType::f16 || info.type == ElementType::f32 ||
                          info.type == ElementType::f64;
    if (dimension && *dimension != info.cols) {
        // Eight bits to a byte.
        const bool packed = info.type == ElementType::u8 && (*dimension + 7) / 8 == info.cols;
        if (!packed) {
            bad_file(
                opened.name,
                fmt::format(
                    "its attribute dimension is {}; expected rows of so many columns, found {}",
                    *dimension, info.cols));
        }
        info.remark = fmt::format("{} bits in {} bytes, by its attribute dimension (--packed-bits)",
                                  *dimension, info.cols);
    }
    const bool differs = (point_type == "float" && !is_float) ||
                         (point_type != "float" && !point_type.empty() && is_float);
    if (differs) {
        info.remark += fmt::format("{}its attribute point_type is {}, and its elements are {}",
                                   info.remark.empty() ? "" : "; ", point_type, name(info.type));
    }
}

FileInfo matrix_of(Hdf5Data& opened) {
    const Hdf5Handle space(H5Dget_space(opened.dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1)
        bad_file(opened.name,
                 fmt::format("expected at least one dimension, found {}", std::max(rank, 0)));
    opened.shape.resize(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, opened.shape.data(), nullptr);

    const Hdf5Handle stored(H5Dget_type(opened.dataset), H5Tclose);
    const std::optional<ElementType> type =
        is_boolean(stored) ? ElementType::u8 : element_type(stored);
    if (!type)
        bad_file(
            opened.name,
            "expected elements of f16 f32 f64 or integers of 8 to 64 bits, found another type");
    opened.element_bytes = static_cast<std::int64_t>(H5Tget_size(stored));

    FileInfo info{"hdf5", 1, 1, *type};
    bool fits = opened.shape[0] <= static_cast<hsize_t>(INT64_MAX);
    info.rows = fits ? static_cast<std::int64_t>(opened.shape[0]) : 1;
    for (std::size_t i = 1; i < opened.shape.size(); ++i) {
        fits = fits && !__builtin_mul_overflow(info.cols, opened.shape[i], &info.cols);
    }
    if (!fits || matrix_bytes(info.rows, info.cols, info.type) < 0) {
        bad_file(opened.name,
                 "expected less than 2^63 bytes, found dimensions whose product is larger");
    }
    if (info.rows < 1 || info.cols < 1) {
        bad_file(opened.name, fmt::format("expected at least one row and one column, found {} x {}",
                                          info.rows, info.cols));
    }
    return info;
}

class Hdf5Source final : public Source {
public:
    Hdf5Source(FileInfo info, Hdf5Data opened, Proceed proceed)
        : Source(std::move(info)), opened_(std::move(opened)), proceed_(std::move(proceed)) {}
    ~Hdf5Source() override {
        Hdf5Session session;
        opened_.dataset.reset();
        opened_.handle.reset();
    }

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        const std::int64_t row_bytes = info_.cols * static_cast<std::int64_t>(size_of(info_.type));
        const std::int64_t step = std::max<std::int64_t>(1, polled_bytes / row_bytes);
        for (const std::int64_t end = first + count; first < end;
             first += step, out += step * row_bytes) {
            require_proceed(proceed_);
            read_block(first, std::min(step, end - first), out);
        }
    }

private:
    void read_block(std::int64_t first, std::int64_t count, std::byte* out) {
        Hdf5Session session;
        require_chunks(opened_, first, count);
        const Hdf5Handle space(H5Dget_space(opened_.dataset), H5Sclose);
        std::vector<hsize_t> start(opened_.shape.size(), 0);
        std::vector<hsize_t> extent = opened_.shape;
        start[0] = static_cast<hsize_t>(first);
        extent[0] = static_cast<hsize_t>(count);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
        const std::int64_t cells = count * info_.cols;
        const auto elements = static_cast<hsize_t>(cells);
        const Hdf5Handle memory(H5Screate_simple(1, &elements, nullptr), H5Sclose);
        // Booleans as they are stored: each is a u8. So are u64, which the library would cut to
        // i64.
        const Hdf5Handle stored(H5Dget_type(opened_.dataset), H5Tclose);
        const Hdf5Handle wanted = hdf5_type(info_.type);
        const bool wide = is_stored_as(stored, H5T_STD_U64LE);
        const hid_t type = is_boolean(stored) ? hid_t{stored}
                           : wide             ? H5T_STD_U64LE
                                              : hid_t{wanted};
        if (H5Dread(opened_.dataset, type, memory, space, H5P_DEFAULT, out) < 0) {
            bad_file(opened_.name,
                     hdf5_why(fmt::format("cannot read rows {} to {}", first, first + count - 1)));
        }
        // The library takes what lies beyond the end of a file for zeros.
        opened_.file.require_unchanged();
        if (wide) require_i64(first, out, cells);
    }

    void require_i64(std::int64_t first, const std::byte* elements, std::int64_t cells) const {
        for (std::int64_t i = 0; i < cells; ++i) {
            std::uint64_t value = 0;
            std::memcpy(&value, elements + i * static_cast<std::int64_t>(sizeof value),
                        sizeof value);
            if (value <= INT64_MAX) continue;
            bad_file(opened_.name,
                     fmt::format("row {}, column {}: expected a number below 2^63, found {}",
                                 first + i / info_.cols, i % info_.cols, value));
        }
    }

    Hdf5Data opened_;
    Proceed proceed_;
};

}  // namespace

bool has_hdf5() {
    return true;
}

SourcePtr open_hdf5(const Location& location) {
    const std::string file = name_in_messages(location.file);
    if (is_standard_input(location.file))
        bad_argument(
            "standard input: the HDF5 library reads files by their names; expected a file, as of: "
            "cat > in.hdf5, or "
            "another "
            "format");
    if (location.gzipped || is_gzip_name(location.file))
        bad_file(file, "expected an HDF5 file as it is, found a gzipped one");
    Hdf5Session session;
    Hdf5Data opened{file, OpenFile(location)};
    opened.handle = hdf5_open_file(opened.file);

    std::string dataset = location.dataset;
    while (dataset.starts_with('/')) dataset.erase(0, 1);
    while (dataset.ends_with('/')) dataset.pop_back();
    const std::vector<std::string> names = names_in(opened.handle, listed_names);
    if (dataset.empty()) dataset = only_name(location, names);
    const bool there = is_inside(opened.handle, dataset) && is_dataset(opened.handle, dataset);
    if (there)
        opened.dataset =
            Hdf5Handle(H5Dopen2(opened.handle, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    if (!opened.dataset.valid()) {
        if (there) {
            bad_file(file, hdf5_why(fmt::format("the data set {} is there, but of a layout that "
                                                "the HDF5 library here cannot read",
                                                dataset)));
        }
        bad_file(file,
                 fmt::format("no data set {}; expected one of: {}", dataset, in_words(names)));
    }
    opened.name = fmt::format("{}/{}", file, dataset);
    FileInfo info = matrix_of(opened);
    require_description(opened, dataset, info);
    require_storage(opened, info);
    opened.file.require_unchanged();
    return std::make_unique<Hdf5Source>(info, std::move(opened), location.proceed);
}

std::vector<std::string> names_hdf5(const Location& location) {
    Hdf5Session session;
    if (is_standard_input(location.file)) return {};
    const OpenFile file(location);
    const Hdf5Handle handle = hdf5_open_file(file);
    return names_in(handle, SIZE_MAX);
}

}  // namespace kith::io
