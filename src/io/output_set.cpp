// OutputSet: inputs and outputs compared by what they are, temporary files opened, renamed
// together.
#include "io/output_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "io/errors.h"
#include "io/input.h"
#include "io/path.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

bool is_hdf5(const Format* format) {
    return format && std::string_view(format->name) == "hdf5";
}

// Data sets of one HDF5 file are apart; of an input without a name nothing is known.
bool overlaps(const std::string& dataset, const std::string& other) {
    return dataset.empty() || other.empty() || dataset == other;
}

// "-" is standard input where it is read.
void require_named(const std::string& what, const std::string& path) {
    if (path != "-") return;
    bad_argument(
        fmt::format("{} -: expected the name of a file: none is written to standard output", what));
}

}  // namespace

Identity identity_of(const std::string& file) {
    const std::filesystem::path path = resolved(file);
    const auto of = [](const struct stat& found, const std::string& name) -> Identity {
        return {found.st_dev, found.st_ino, name, true};
    };
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0) return of(found, "");
    if (file == "-" && ::fstat(STDIN_FILENO, &found) == 0) return of(found, "");
    const std::string folder = path.parent_path().string();
    if (::stat(folder.empty() ? "." : folder.c_str(), &found) == 0)
        return of(found, path.filename().string());
    return {};
}

}  // namespace io

using namespace io;

OutputSet::OutputSet(bool force, std::function<bool()> keep_going)
    : state_(std::make_unique<State>(State{force, std::move(keep_going), {}, {}, {}})) {}
OutputSet::~OutputSet() {
    const machine::FloatState state;
    state_.reset();
}

void OutputSet::reads(const std::string& what, const std::string& path) {
    const machine::FloatState state;
    if (path.empty()) return;
    const Location location = parse_source(path).location;
    state_->reads.push_back(
        {what, path, identity_of(location.file), normal_dataset(location.dataset)});
}

Part& OutputSet::State::add(const std::string& what, const std::string& path,
                            const Location& location, const Format* format, Links links) {
    const std::string dataset = is_hdf5(format) ? normal_dataset(location.dataset) : "";
    const Identity identity = identity_of(location.file);
    for (const ReadFile& input : reads) {
        if (!identity.known || input.identity != identity || !overlaps(dataset, input.dataset))
            continue;
        bad_argument(fmt::format("{} {} is what {} reads ({}); expected another file", what, path,
                                 input.what, input.path));
    }
    WrittenFile* file = nullptr;
    for (std::size_t i = 0; i < parts.size() && identity.known; ++i) {
        if (identity_of(parts[i]->target.file) != identity) continue;
        if (overlaps(dataset, parts[i]->target.dataset)) {
            bad_argument(fmt::format(
                "{} {} is what {} writes ({}); expected another file, or another data set of one "
                "HDF5 file",
                what, path, parts[i]->what, parts[i]->path));
        }
        for (const auto& open : files) {
            if (open->pending.get() == parts[i]->target.pending) file = open.get();
        }
    }
    if (!file) {
        auto opened = std::make_unique<WrittenFile>();
        opened->pending = std::make_unique<PendingFile>(location.file, links);
        if (is_hdf5(format))
            opened->hdf5 = std::make_unique<Hdf5Output>(*opened->pending, force, keep_going);
        file = opened.get();
        files.push_back(std::move(opened));
    }
    if (file->hdf5) file->hdf5->reserve(dataset);
    parts.push_back(std::make_unique<Part>(
        Part{what, path, format, {location.file, dataset, file->pending.get(), file->hdf5.get()}}));
    return *parts.back();
}

Part& OutputSet::State::part(const std::string& path) const {
    for (const auto& part : parts) {
        if (part->path == path) return *part;
    }
    bad_argument(fmt::format("{}: expected a path that was added to the outputs", path));
}

void OutputSet::add(const std::string& what, const std::string& path,
                    const std::string& format_name) {
    const machine::FloatState state;
    require_named(what, path);
    Location location = parse_target(path);
    const Format& format = format_to_write(what, location.file, format_name);
    if (is_hdf5(&format)) {
        if (is_gzip_name(location.file)) {
            bad_argument(fmt::format(
                "{}: HDF5 files are not written compressed; expected a name without .gz", path));
        }
        if (normal_dataset(location.dataset).empty()) location.dataset = "train";
    } else if (!location.dataset.empty()) {
        bad_argument(fmt::format("{}: {} files have no named data sets", path, format.name));
    }
    state_->add(what, path, location, &format);
}

void OutputSet::add_bytes(const std::string& what, const std::string& path, Links links) {
    const machine::FloatState state;
    require_named(what, path);
    state_->add(what, path, {path, ""}, nullptr, links);
}

void OutputSet::add_big_ann_truth(const std::string& what, const std::string& path) {
    const machine::FloatState state;
    require_named(what, path);
    state_->add(what, path, {path, ""}, &format_of(path, "truth"));
}

void OutputSet::add_ann_benchmarks(const std::string& what, const std::string& path,
                                   const Metric& metric, bool train, bool test) {
    const machine::FloatState state;
    require_named(what, path);
    const Format& format = format_of(path, "hdf5");
    const auto add_part = [&](const char* dataset) -> Part& {
        return state_->add(what, path + "/" + dataset, {path, dataset}, &format);
    };
    add_part("neighbors").target.hdf5->set_metric(metric);
    add_part("distances");
    if (train) add_part("train");
    if (test) add_part("test");
}

void OutputSet::commit() {
    const machine::FloatState state;
    for (const auto& part : state_->parts) {
        if (!part->written)
            bad_argument(fmt::format("{}: expected to be written before commit", part->path));
    }
    for (const auto& file : state_->files) {
        if (file->hdf5) file->hdf5->finish();
        file->pending->sync();
    }
    for (const auto& file : state_->files) file->pending->commit();
}

struct FileWriter::State {
    Part& part;
    std::unique_ptr<Output> output;
};

FileWriter::FileWriter(OutputSet& outputs, const std::string& path) {
    const machine::FloatState state;
    Part& part = outputs.state().part(path);
    state_ = std::make_unique<State>(State{part, open_plain(*part.target.pending)});
}
FileWriter::~FileWriter() {
    const machine::FloatState state;
    state_.reset();
}
FileWriter::FileWriter(FileWriter&&) noexcept = default;
FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
    const machine::FloatState state;
    state_ = std::move(other.state_);
    return *this;
}

void FileWriter::write(const void* bytes, std::int64_t count) {
    const machine::FloatState state;
    state_->output->write(bytes, count);
}

void FileWriter::finish() {
    const machine::FloatState state;
    state_->output->finish();
    state_->part.written = true;
}

}  // namespace kith
