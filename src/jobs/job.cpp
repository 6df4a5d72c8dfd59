// Creates and opens the folder of a ground-truth job.
#include "jobs/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "io/files/regular_file.h"
#include "io/path.h"
#include "jobs/files/job_files.h"
#include "jobs/files/manifest.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "kith/output.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Reads the metric's parameter into the job, which points to it. Throws bad_file unless the file
// matches `checksum`.
void read_numbers(Job& job, std::uint32_t checksum) {
    const std::string path = numbers_path(job);
    const bool square = job.metric.id == MetricId::mahalanobis;
    const FileInfo expected{"", square ? job.base.cols : 1, job.base.cols, ElementType::f64};
    MatrixReader reader(path);
    const FileInfo& found = reader.info();
    const auto changed = [&] {
        throw Error(ErrorCode::bad_file, fmt::format("{}: changed since the job was made", path));
    };
    if (found.rows != expected.rows || found.cols != expected.cols || found.type != expected.type)
        changed();
    require_memory(found.rows * found.cols * static_cast<std::int64_t>(sizeof(double)), path);
    job.numbers.resize(static_cast<std::size_t>(found.rows * found.cols));
    reader.read(0, found.rows, reinterpret_cast<std::byte*>(job.numbers.data()));
    if (checksum_of(job.numbers) != checksum) changed();
    (square ? job.metric.inverse_covariance : job.metric.variances) =
        view(job.numbers.data(), found.rows, found.cols);
}

// Reads the bytes of a manifest. Throws bad_file.
std::string manifest_bytes(const std::string& folder) {
    const std::string path = manifest_path(folder);
    const io::RegularFile file(path, path);
    if (!file.is_open() && file.error() != ENOENT && file.error() != ENOTDIR)
        throw Error(ErrorCode::bad_file, fmt::format("{}: expected a readable file: {}", path,
                                                     std::strerror(file.error())));
    if (!file.is_open())
        throw Error(
            ErrorCode::bad_file,
            fmt::format("{}: expected the manifest of a job, made by kith groundtruth init {}",
                        path, folder));
    if (file.size() > longest_manifest)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: {} bytes; expected a manifest of at most {}", path,
                                file.size(), longest_manifest));
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    text.resize(static_cast<std::size_t>(file.read(text.data(), file.size(), path)));
    return text;
}

void make_folder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: cannot make the folder: {}", folder, failed.message()));
}

void sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // a folder that can be written but not read
    (void)::fsync(descriptor);
    ::close(descriptor);
}

// Renames the file at `own` to `path`, never replacing a file; false if that name is taken.
bool rename_first(const std::string& own, const std::string& path) {
    std::error_code failed;
    // A file server that retries a link may report its own link as already existing.
    if (::link(own.c_str(), path.c_str()) == 0 ||
        (errno == EEXIST && std::filesystem::equivalent(own, path, failed))) {
        ::unlink(own.c_str());
        return true;
    }
    if (errno == EEXIST) return false;
    // A file system without links.
    return ::renameat2(AT_FDCWD, own.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
}

void publish(const std::string& own, const std::string& folder) {
    const std::string path = manifest_path(folder);
    if (!rename_first(own, path)) {
        require_no_job(folder);
        // A file system that supports neither.
        if (std::rename(own.c_str(), path.c_str()) != 0)
            throw Error(ErrorCode::bad_file, fmt::format("{}: cannot rename {} to it: {}", path,
                                                         own, std::strerror(errno)));
    }
    sync_folder(folder);
}

// Files of an unpublished job, which no other process knows; removed unless kept.
class Unpublished {
public:
    explicit Unpublished(std::vector<std::string> files) : files_(std::move(files)) {}
    ~Unpublished() {
        for (const std::string& file : files_) ::unlink(file.c_str());
    }
    Unpublished(const Unpublished&) = delete;
    Unpublished& operator=(const Unpublished&) = delete;
    void keep() { files_.clear(); }

private:
    std::vector<std::string> files_;
};

// The files and folders of a job in its own folder, and the links within these. `id` is the job's.
std::vector<std::string> own_files(const std::string& folder, const std::string& id) {
    std::vector<std::string> files{manifest_path(folder), numbers_path(folder, id)};
    for (const char* part : {"/units", "/claims"}) {
        const std::string inner = folder + part;
        files.push_back(inner);
        std::error_code failed;
        std::filesystem::directory_iterator entry(inner, failed);
        for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
            std::error_code ignored;
            if (entry->is_symlink(ignored)) files.push_back(entry->path().string());
        }
    }
    return files;
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code failed;
    std::filesystem::directory_iterator entry(folder, failed);
    for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
        names.push_back(entry->path().filename().string());
    if (failed && failed != std::errc::no_such_file_or_directory)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: cannot be read: {}", folder, failed.message()));
    return names;
}

void require_no_job(const std::string& folder) {
    const std::string path = manifest_path(folder);
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, failed)))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: is there already; kith groundtruth run {} goes on with it",
                                path, folder));
}

std::string name(const WorkUnit& unit) {
    const machine::FloatState state;
    return fmt::format("s{:05}-q{:05}", unit.shard, unit.block);
}

void write_job(const Job& job) {
    require_no_job(job.folder);
    const std::string path = fmt::format("{}/manifest-{}.json", job.folder, job.id);
    const std::string numbers = numbers_path(job);
    for (const char* part : {"/units", "/claims"}) make_folder(job.folder + part);
    Unpublished unpublished({path, numbers});
    OutputSet outputs;
    if (!job.numbers.empty()) {
        outputs.add("the metric", numbers);
        const bool square = job.metric.id == MetricId::mahalanobis;
        MatrixWriter writer(outputs, numbers,
                            {"", square ? job.base.cols : 1, job.base.cols, ElementType::f64});
        writer.append(job.numbers.data(), square ? job.base.cols : 1);
        writer.commit();
    }
    const std::string text = manifest_text(job);
    outputs.add_bytes("the manifest", path);
    FileWriter writer(outputs, path);
    writer.write(text.data(), static_cast<std::int64_t>(text.size()));
    writer.finish();
    outputs.commit();
    publish(path, job.folder);
    unpublished.keep();
}

Job read_job(const std::string& folder, bool strict) {
    Manifest manifest = parse_manifest(manifest_bytes(folder), folder, manifest_path(folder));
    if (strict) require_inside(manifest.job);
    if (manifest.numbers_checksum) read_numbers(manifest.job, *manifest.numbers_checksum);
    return std::move(manifest.job);
}

JobInfo info_of(const Job& job) {
    const auto files = [](const Rows& rows) {
        RowFiles of{{}, rows.count, rows.type};
        for (const RowFile& file : rows.files) of.paths.push_back(file.path);
        return of;
    };
    JobInfo info;
    info.folder = job.folder;
    info.id = job.id;
    info.version = job.version;
    info.graph = job.graph;
    info.k = job.k;
    info.dimensions = job.base.cols;
    info.memory = job.memory;
    info.metric = job.metric;
    info.estimated = job.estimated;
    info.numbers = std::make_shared<const std::vector<double>>(job.numbers);
    for (MatrixView* matrix : {&info.metric.inverse_covariance, &info.metric.variances}) {
        if (matrix->data) matrix->data = info.numbers->data();
    }
    info.base = files(job.base);
    info.queries = files(job.queries);
    info.shards = job.shards();
    info.blocks = job.blocks();
    return info;
}

JobInfo info(const std::string& folder) {
    const machine::FloatState state;
    return info_of(read_job(folder));
}

std::vector<std::string> files_outside(const JobInfo& job) {
    const machine::FloatState state;
    std::error_code unknown, failed;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(job.folder, unknown);
    std::vector<std::string> outside;
    std::set<std::string> seen;
    const auto look = [&](const std::string& file, const std::string& named) {
        if (!seen.insert(file).second) return;
        const std::filesystem::path path = std::filesystem::weakly_canonical(named, failed);
        const bool inside =
            std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
            folder.end();
        // A canonical path that is a link leads to nothing yet.
        std::error_code ignored;
        if (unknown || failed || !inside || std::filesystem::is_symlink(path, ignored))
            outside.push_back(file);
    };
    for (const RowFiles* rows : {&job.base, &job.queries})
        for (const std::string& file : rows->paths)
            look(file, io::parse_source(file).location.file);
    if (unknown) return outside;
    for (const std::string& file : own_files(job.folder, job.id)) look(file, file);
    return outside;
}

void require_inside(const Job& job) {
    const std::vector<std::string> outside = files_outside(info_of(job));
    if (outside.empty()) return;
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: expected files in the folder of the job only, found {}",
                            manifest_path(job.folder), outside[0]));
}

std::vector<std::string> files_of(const JobInfo& job) {
    const machine::FloatState state;
    std::vector<std::string> files = job.base.paths;
    files.insert(files.end(), job.queries.paths.begin(), job.queries.paths.end());
    files.push_back(manifest_path(job.folder));
    if (job.numbers && !job.numbers->empty()) files.push_back(numbers_path(job.folder, job.id));
    for (std::int64_t unit = 0; unit < job.units(); ++unit)
        files.push_back(job.folder + "/units/" + name(job.unit(unit)));
    return files;
}

}  // namespace kith::groundtruth
