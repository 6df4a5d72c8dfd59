// Adds data sets and attributes to an HDF5 file.
#include "io/hdf5_output.h"

#include <sstream>

#include "io/errors.h"

namespace kith::io {
namespace {

class Hdf5Sink final : public Sink {
public:
    Hdf5Sink(const Target& target, const FileInfo& info) : file_(*target.hdf5), info_(info) {
        Hdf5Session session;
        dataset_ = file_.create(target.dataset, info);
    }
    ~Hdf5Sink() override {
        Hdf5Session session;
        dataset_.reset();
    }
    Hdf5Sink(const Hdf5Sink&) = delete;
    Hdf5Sink& operator=(const Hdf5Sink&) = delete;

    void append(const std::byte* rows, std::int64_t count) override {
        Hdf5Session session;
        file_.write_rows(dataset_, info_, written_, count, rows);
        written_ += count;
    }

    void finish() override {}

private:
    Hdf5Output& file_;
    FileInfo info_;
    Hdf5Handle dataset_;
    std::int64_t written_ = 0;
};

}  // namespace

std::string normal_dataset(const std::string& dataset) {
    std::string normal;
    std::istringstream parts(dataset);
    for (std::string part; std::getline(parts, part, '/');) {
        if (part.empty() || part == ".") continue;
        normal += normal.empty() ? "" : "/";
        normal += part;
    }
    return normal;
}

Hdf5Output::Hdf5Output(PendingFile& file, bool force, const std::function<bool()>& keep_going)
    : pending_(file), device_(file), force_(force) {
    if (file.adds()) file.copy_old(keep_going);
    Hdf5Session session;
    file_ = device_.open();
    device_.require_written();
    if (file_.valid()) return;
    bad_file(name(),
             hdf5_why(file.adds() ? "expected an HDF5 file, to which a data set can be added"
                                  : "cannot create an HDF5 file"));
}

Hdf5Output::~Hdf5Output() {
    Hdf5Session session;
    file_.reset();
}

void Hdf5Output::reserve(const std::string& dataset) {
    Hdf5Session session;
    for (std::size_t end = 0; end != std::string::npos;) {
        end = dataset.find('/', end + 1);
        const std::string part = dataset.substr(0, end);
        if (H5Lexists(file_, part.c_str(), H5P_DEFAULT) <= 0) return;
        H5L_info_t link;
        H5O_info_t object;
        // Other links may lead into other files.
        if (H5Lget_info(file_, part.c_str(), &link, H5P_DEFAULT) < 0 ||
            (link.type == H5L_TYPE_HARD &&
             H5Oget_info_by_name2(file_, part.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0)) {
            bad_file(name(), hdf5_why(fmt::format("cannot examine {}", part)));
        }
        if (link.type != H5L_TYPE_HARD) {
            bad_argument(fmt::format(
                "{}: expected groups and data sets of this file, and {} is a link", name(), part));
        }
        const bool last = end == std::string::npos;
        if (object.type != (last ? H5O_TYPE_DATASET : H5O_TYPE_GROUP)) {
            bad_argument(fmt::format("{}: expected the name of a {}, and {} is something else",
                                     name(), last ? "data set" : "group", part));
        }
    }
    if (!force_) {
        bad_argument(fmt::format(
            "{}: holds a data set {} already; only force (--force) replaces it", name(), dataset));
    }
    if (H5Ldelete(file_, dataset.c_str(), H5P_DEFAULT) < 0) {
        bad_file(name(), hdf5_why(fmt::format("cannot replace the data set {}", dataset)));
    }
}

void Hdf5Output::set_attribute(const char* name_of_it, hid_t type, const void* value) {
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    if (has_attribute(name_of_it)) H5Adelete(file_, name_of_it);
    const Hdf5Handle attribute(H5Acreate2(file_, name_of_it, type, space, H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
    const bool failed = !attribute.valid() || H5Awrite(attribute, type, value) < 0;
    device_.require_written();
    if (failed) {
        bad_file(name(), hdf5_why(fmt::format("cannot write the attribute {}", name_of_it)));
    }
}

void Hdf5Output::set_text(const char* name_of_it, const std::string& text) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const char* value = text.c_str();
    set_attribute(name_of_it, type, &value);
}

bool Hdf5Output::has_attribute(const char* name_of_it) const {
    return H5Aexists(file_, name_of_it) > 0;
}

Hdf5Handle Hdf5Output::create(const std::string& dataset, const FileInfo& info) {
    const hsize_t shape[2] = {static_cast<hsize_t>(info.rows), static_cast<hsize_t>(info.cols)};
    const Hdf5Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose);
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links, 1);
    const Hdf5Handle type = hdf5_type(info.type);
    Hdf5Handle created(
        H5Dcreate2(file_, dataset.c_str(), type, space, links, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    device_.require_written();
    if (!created.valid())
        bad_file(name(), hdf5_why(fmt::format("cannot create the data set {}", dataset)));
    return created;
}

void Hdf5Output::write_rows(hid_t dataset, const FileInfo& info, std::int64_t first,
                            std::int64_t count, const void* rows) {
    const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
    const hsize_t extent[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(info.cols)};
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(2, extent, nullptr), H5Sclose);
    const Hdf5Handle type = hdf5_type(info.type);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, extent, nullptr);
    const bool failed = H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows) < 0;
    device_.require_written();
    if (failed) {
        bad_file(name(),
                 hdf5_why(fmt::format("cannot write rows {} to {}", first, first + count - 1)));
    }
}

void Hdf5Output::finish() {
    Hdf5Session session;
    const bool failed = file_.reset() < 0;
    device_.require_written();
    if (failed) bad_file(name(), hdf5_why("cannot complete the HDF5 file"));
}

SinkPtr create_hdf5(const Target& target, const FileInfo& info) {
    require_type(target, info, "f16 f32 f64 i8 u8 i32 i64");
    return std::make_unique<Hdf5Sink>(target, info);
}

}  // namespace kith::io
