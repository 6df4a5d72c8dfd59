// HDF5 data sets as matrices, as ann-benchmarks keeps them.
#include <algorithm>
#include <memory>
#include <optional>

#include "io/errors.h"
#include "io/hdf5_session.h"
#include "io/input.h"

#include <unistd.h>

namespace kith::io {
namespace {

// Deflate cannot expand further than this (zlib's manual, "Maximum expansion factor"), so no honest data set does.
constexpr std::int64_t largest_expansion = 1032;

constexpr std::size_t listed_names = 50;

std::string data_sets_of(hid_t file) {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* path, const H5O_info_t* info, void* out) -> herr_t {
        auto& found = *static_cast<std::vector<std::string>*>(out);
        if (info->type == H5O_TYPE_DATASET) found.emplace_back(path);
        return found.size() < listed_names ? 0 : 1;
    };
    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, &names);
    if (names.empty()) return "none";
    std::string list;
    for (const std::string& one : names) list += (list.empty() ? "" : ", ") + one;
    return names.size() < listed_names ? list : list + ", ...";
}

// Follows hard links only: others may lead into other files.
bool is_inside(hid_t file, const std::string& dataset) {
    for (std::size_t end = 0; end != std::string::npos;) {
        end = dataset.find('/', end + 1);
        const std::string part = dataset.substr(0, end);
        H5L_info_t link;
        if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
        if (H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) return false;
    }
    return true;
}

std::optional<ElementType> element_type(hid_t stored) {
    for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::i8,
                                   ElementType::u8, ElementType::i32, ElementType::i64}) {
        const Hdf5Handle little = hdf5_type(type);
        if (H5Tequal(stored, little) > 0) return type;
        const Hdf5Handle big(H5Tcopy(little), H5Tclose);
        H5Tset_order(big, H5T_ORDER_BE);
        if (H5Tequal(stored, big) > 0) return type;
    }
    return {};
}

struct Opened {
    std::string name;  // FILE/DATASET, for messages
    std::int64_t file_size = 0;
    Hdf5Handle file;
    Hdf5Handle dataset;
    std::vector<hsize_t> shape;
};

FileInfo matrix_of(Opened& opened) {
    const Hdf5Handle space(H5Dget_space(opened.dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1) bad_file(opened.name, fmt::format("expected at least one dimension, found {}", std::max(rank, 0)));
    opened.shape.resize(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, opened.shape.data(), nullptr);

    const Hdf5Handle stored(H5Dget_type(opened.dataset), H5Tclose);
    const std::optional<ElementType> type = element_type(stored);
    if (!type) bad_file(opened.name, "expected elements of f16 f32 f64 i8 u8 i32 i64, found another type");

    FileInfo info{"hdf5", 1, 1, *type};
    bool fits = opened.shape[0] <= static_cast<hsize_t>(INT64_MAX);
    info.rows = fits ? static_cast<std::int64_t>(opened.shape[0]) : 1;
    for (std::size_t i = 1; i < opened.shape.size(); ++i) {
        fits = fits && !__builtin_mul_overflow(info.cols, opened.shape[i], &info.cols);
    }
    if (!fits || matrix_bytes(info.rows, info.cols, info.type) < 0) {
        bad_file(opened.name, "expected less than 2^63 bytes, found dimensions whose product is larger");
    }
    if (info.rows < 1 || info.cols < 1) {
        bad_file(opened.name,
                 fmt::format("expected at least one row and one column, found {} x {}", info.rows, info.cols));
    }
    return info;
}

// Filters that only this process' own libraries run: shuffle, checksum and deflate. True where there are any.
bool is_filtered(const Opened& opened, hid_t properties) {
    const int filters = H5Pget_nfilters(properties);
    for (int i = 0; i < filters; ++i) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config);
        if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32) {
            bad_file(opened.name, fmt::format("expected deflate, shuffle and fletcher32 only, found filter {}",
                                              static_cast<int>(id)));
        }
    }
    return filters > 0;
}

// The bytes must lie in this file, and be as many as the shape says: otherwise a short file could claim a huge matrix
// of fill values.
void require_storage(const Opened& opened, const FileInfo& info) {
    const Hdf5Handle properties(H5Dget_create_plist(opened.dataset), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties);
    if ((layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT) ||
        H5Pget_external_count(properties) != 0) {
        bad_file(opened.name, "expected the data in this file, found a virtual or external data set");
    }
    const bool filtered = is_filtered(opened, properties);
    const std::int64_t bytes = matrix_bytes(info.rows, info.cols, info.type);
    const hsize_t stored = H5Dget_storage_size(opened.dataset);
    const auto limit = static_cast<hsize_t>(opened.file_size);
    const haddr_t start = layout == H5D_CONTIGUOUS && stored > 0 ? H5Dget_offset(opened.dataset) : 0;
    if (stored > limit || start > limit - stored) {
        bad_bytes(opened.name, static_cast<std::int64_t>(std::min<haddr_t>(start, limit)),
                  fmt::format("{} bytes of data", stored), fmt::format("the end of the file at {}", limit));
    }
    const std::int64_t most = static_cast<std::int64_t>(stored) * (filtered ? largest_expansion : 1);
    if (bytes > most) {
        bad_file(opened.name, fmt::format("expected {} bytes of data ({} x {} {}), found at most {}", bytes, info.rows,
                                          info.cols, name(info.type), most));
    }
    // The library allocates a whole chunk to read a part of it.
    if (layout == H5D_CHUNKED) {
        std::vector<hsize_t> chunk(opened.shape.size());
        H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
        double chunk_bytes = static_cast<double>(size_of(info.type));
        for (const hsize_t extent : chunk) chunk_bytes *= static_cast<double>(extent);
        if (chunk_bytes > static_cast<double>(most)) {
            bad_file(opened.name, fmt::format("expected chunks of at most {} bytes, found {:.0f}", most, chunk_bytes));
        }
    }
}

class Hdf5Source final : public Source {
public:
    Hdf5Source(FileInfo info, Opened opened) : Source(std::move(info)), opened_(std::move(opened)) {}
    ~Hdf5Source() override {
        Hdf5Session session;
        opened_.dataset.reset();
        opened_.file.reset();
    }

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        Hdf5Session session;
        const Hdf5Handle space(H5Dget_space(opened_.dataset), H5Sclose);
        std::vector<hsize_t> start(opened_.shape.size(), 0);
        std::vector<hsize_t> extent = opened_.shape;
        start[0] = static_cast<hsize_t>(first);
        extent[0] = static_cast<hsize_t>(count);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
        const std::int64_t cells = count * info_.cols;
        const auto elements = static_cast<hsize_t>(cells);
        const Hdf5Handle memory(H5Screate_simple(1, &elements, nullptr), H5Sclose);
        const Hdf5Handle type = hdf5_type(info_.type);
        if (H5Dread(opened_.dataset, type, memory, space, H5P_DEFAULT, out) < 0) {
            bad_file(opened_.name, hdf5_why(fmt::format("cannot read rows {} to {}", first, first + count - 1)));
        }
    }

private:
    Opened opened_;
};

class Hdf5Sink final : public Sink {
public:
    Hdf5Sink(const Target& target, const FileInfo& info) : target_(target), info_(info) {
        Hdf5Session session;
        file_ = hdf5_create_file(target);
        dataset_ = hdf5_create_dataset(file_, target, target.dataset.empty() ? "train" : target.dataset, info);
    }
    ~Hdf5Sink() override { close(); }

    void append(const std::byte* rows, std::int64_t count) override {
        Hdf5Session session;
        hdf5_write_rows(dataset_, target_, info_, written_, count, rows);
        written_ += count;
    }

    void finish() override {
        if (!close()) bad_file(target_.file, "cannot complete the HDF5 file");
    }

private:
    bool close() {
        Hdf5Session session;
        const bool dataset = dataset_.reset() >= 0;
        return file_.reset() >= 0 && dataset;
    }

    Target target_;
    FileInfo info_;
    Hdf5Handle file_;
    Hdf5Handle dataset_;
    std::int64_t written_ = 0;
};

}  // namespace

SourcePtr open_hdf5(const Location& location) {
    Hdf5Session session;
    Opened opened;
    opened.name = location.file;
    ::close(open_regular(location.file, opened.file_size));

    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access, false, true);  // reading must work where locks do not
    opened.file = Hdf5Handle(H5Fopen(location.file.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
    if (!opened.file.valid()) bad_bytes(location.file, 0, "an HDF5 file", hdf5_why("none"));

    std::string dataset = location.dataset;
    while (dataset.starts_with('/')) dataset.erase(0, 1);
    while (dataset.ends_with('/')) dataset.pop_back();
    if (dataset.empty()) {
        bad_file(location.file, fmt::format("expected the name of a data set, as in {}/NAME, of: {}", location.file,
                                            data_sets_of(opened.file)));
    }
    if (is_inside(opened.file, dataset)) {
        opened.dataset = Hdf5Handle(H5Dopen2(opened.file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    }
    if (!opened.dataset.valid()) {
        bad_file(location.file, fmt::format("no data set {}; expected one of: {}", dataset, data_sets_of(opened.file)));
    }
    opened.name = fmt::format("{}/{}", location.file, dataset);
    const FileInfo info = matrix_of(opened);
    require_storage(opened, info);
    return std::make_unique<Hdf5Source>(info, std::move(opened));
}

SinkPtr create_hdf5(const Target& target, const FileInfo& info) {
    require_type(target, info, "f16 f32 f64 i8 u8 i32 i64");
    return std::make_unique<Hdf5Sink>(target, info);
}

}  // namespace kith::io
