// What takes the place of the HDF5 sources in a build without libhdf5.
#include "io/errors.h"
#include "io/format.h"
#include "io/hdf5_output.h"

namespace kith {
namespace io {
namespace {

[[noreturn]] void refuse(const std::string& file) {
    bad_argument(fmt::format("{}: this kith was built without HDF5; expected another format, or {}",
                             file, hdf5_remedy));
}

}  // namespace

bool has_hdf5() {
    return false;
}
SourcePtr open_hdf5(const Location& location) {
    refuse(location.file);
}
SinkPtr create_hdf5(const Target& target, const FileInfo&) {
    refuse(target.file);
}
std::vector<std::string> names_hdf5(const Location& location) {
    refuse(location.file);
}
std::string normal_dataset(const std::string& dataset) {
    return dataset;
}

Hdf5Handle::~Hdf5Handle() = default;

Hdf5Output::Hdf5Output(PendingFile& file, bool force, const std::function<bool()>&)
    : pending_(file), device_(file), force_(force) {
    refuse(name());
}
Hdf5Output::~Hdf5Output() = default;
void Hdf5Output::reserve(const std::string&) {}
void Hdf5Output::set_metric(const Metric&) {}
void Hdf5Output::finish() {}

}  // namespace io

void write_ann_benchmarks(const std::string& path, const Neighbors&, const Metric&,
                          const MatrixView&, const MatrixView&, bool) {
    io::refuse(path);
}
void write_ann_benchmarks(OutputSet&, const std::string& path, const Neighbors&, const MatrixView&,
                          const MatrixView&) {
    io::refuse(path);
}
std::optional<Metric> read_ann_benchmarks_metric(const std::string& path, bool*) {
    io::refuse(path);
}

}  // namespace kith
