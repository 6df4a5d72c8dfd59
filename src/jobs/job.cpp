// Writes and reads the manifest of a ground-truth job.
#include "jobs/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jobs/checksum.h"
#include "jobs/job_files.h"
#include "jobs/json.h"
#include "kith/error.h"
#include "kith/output.h"
#include "kith/version.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

constexpr int manifest_format = 1;

std::uint32_t checksum_of(const std::string& text) {
    Checksum sum;
    sum.add(text.data(), text.size());
    return sum.value();
}
std::uint32_t checksum_of(const std::vector<double>& numbers) {
    Checksum sum;
    sum.add(numbers.data(), numbers.size() * sizeof(double));
    return sum.value();
}

// Numbers of binary64 are written as text: JSON has no infinity.
Json metric_json(const Job& job) {
    const Metric& metric = job.metric;
    Json json = {{"name", name(metric.id)}, {"p", fmt::format("{}", metric.p)}, {"packed_bits", metric.packed_bits}};
    if (metric.id == MetricId::formula) {
        json["formula"] = metric.formula;
        json["start"] = fmt::format("{}", metric.start);
    }
    if (!job.numbers.empty()) {
        json["estimated"] = job.estimated;
        json["numbers_checksum"] = checksum_of(job.numbers);
    }
    return json;
}

// Files within the job's folder are named from there, so that the folder can be moved; others by their absolute paths.
std::string named_from(const std::filesystem::path& folder, const std::filesystem::path& path) {
    std::filesystem::path rest, above = path;
    std::error_code failed;
    while (above.has_relative_path() && above.filename() != "..") {
        rest = rest.empty() ? above.filename() : above.filename() / rest;
        above = above.parent_path();
        if (std::filesystem::equivalent(above, folder, failed)) return rest.string();
    }
    return path.string();
}
std::string found_from(const std::filesystem::path& folder, const std::string& path) {
    return std::filesystem::absolute(folder / path).string();
}

Json rows_json(const std::string& folder, const Rows& rows) {
    Json files = Json::array(), pieces = Json::array();
    for (const RowFile& file : rows.files)
        files.push_back({{"path", named_from(folder, file.path)}, {"rows", file.rows}});
    for (const RowPiece& piece : rows.pieces)
        pieces.push_back({{"file", piece.file},
                          {"file_row", piece.file_row},
                          {"first", piece.first},
                          {"rows", piece.rows},
                          {"checksum", piece.checksum}});
    return {{"rows", rows.count},    {"cols", rows.cols}, {"type", name(rows.type)},
            {"format", rows.format}, {"files", files},    {"pieces", pieces}};
}

Json manifest_json(const Job& job) {
    return {{"manifest", manifest_format},
            {"kith", job.version},
            {"job", job.id},
            {"command", job.graph ? "graph" : "search"},
            {"k", job.k},
            {"memory", job.memory},
            {"metric", metric_json(job)},
            {"base", rows_json(job.folder, job.base)},
            {"queries", rows_json(job.folder, job.queries)}};
}

[[noreturn]] void refuse(const std::string& what, const std::string& found) {
    throw Error(ErrorCode::bad_file, fmt::format("the manifest: {} '{}'", what, found));
}

ElementType type_named(const std::string& text) {
    for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                   ElementType::i8, ElementType::u8, ElementType::i32, ElementType::i64}) {
        if (text == name(type)) return type;
    }
    refuse("type", text);
}

double real(const std::string& what, const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [behind, failed] = std::from_chars(text.data(), end, value);
    if (failed != std::errc() || behind != end) refuse(what, text);
    return value;
}

Rows rows_from(const std::string& folder, const Json& json) {
    Rows rows;
    rows.format = json.at("format").get<std::string>();
    rows.count = json.at("rows").get<std::int64_t>();
    rows.cols = json.at("cols").get<std::int64_t>();
    rows.type = type_named(json.at("type").get<std::string>());
    for (const Json& file : json.at("files"))
        rows.files.push_back(
            {found_from(folder, file.at("path").get<std::string>()), file.at("rows").get<std::int64_t>()});
    for (const Json& piece : json.at("pieces"))
        rows.pieces.push_back({piece.at("file").get<std::int64_t>(), piece.at("file_row").get<std::int64_t>(),
                               piece.at("first").get<std::int64_t>(), piece.at("rows").get<std::int64_t>(),
                               piece.at("checksum").get<std::uint32_t>()});
    return rows;
}

void read_metric(const Json& json, Job& job) {
    const std::string named = json.at("name").get<std::string>();
    Metric& metric = job.metric;
    if (json.contains("formula")) {
        metric.id = MetricId::formula;
        metric.formula = json.at("formula").get<std::string>();
        metric.start = real("start", json.at("start").get<std::string>());
    } else {
        metric = metric_named(named);
    }
    metric.p = real("p", json.at("p").get<std::string>());
    metric.packed_bits = json.at("packed_bits").get<bool>();
    if (!json.contains("numbers_checksum")) return;
    job.estimated = json.at("estimated").get<bool>();
    const std::string path = numbers_path(job);
    const Matrix matrix = read_matrix(path);
    if (matrix.info.type == ElementType::f64) {
        job.numbers.resize(matrix.bytes.size() / sizeof(double));
        std::memcpy(job.numbers.data(), matrix.bytes.data(), matrix.bytes.size());
    }
    if (checksum_of(job.numbers) != json.at("numbers_checksum").get<std::uint32_t>())
        throw Error(ErrorCode::bad_file, fmt::format("{}: changed since the job was made", path));
    (metric.id == MetricId::mahalanobis ? metric.inverse_covariance : metric.variances) =
        view(job.numbers.data(), matrix.info.rows, matrix.info.cols);
}

Job job_from(const std::string& folder, const Json& json) {
    Job job;
    job.folder = folder;
    job.id = json.at("job").get<std::string>();
    job.version = json.at("kith").get<std::string>();
    job.graph = json.at("command").get<std::string>() == "graph";
    job.k = json.at("k").get<std::int64_t>();
    job.memory = json.at("memory").get<std::int64_t>();
    job.base = rows_from(folder, json.at("base"));
    job.queries = rows_from(folder, json.at("queries"));
    read_metric(json.at("metric"), job);
    return job;
}

void make_folder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        throw Error(ErrorCode::bad_file, fmt::format("{}: cannot make the folder: {}", folder, failed.message()));
}

void sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // a folder to write to, not to read
    (void)::fsync(descriptor);
    ::close(descriptor);
}

// Gives the file at `own` the name `path` instead, and never takes that from another; false where it is taken.
bool rename_first(const std::string& own, const std::string& path) {
    std::error_code failed;
    // A server that was asked twice says of its own link that it is there already.
    if (::link(own.c_str(), path.c_str()) == 0 || (errno == EEXIST && std::filesystem::equivalent(own, path, failed))) {
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
        // A file system that has neither of the two.
        if (std::rename(own.c_str(), path.c_str()) != 0)
            throw Error(ErrorCode::bad_file,
                        fmt::format("{}: cannot rename {} to it: {}", path, own, std::strerror(errno)));
    }
    sync_folder(folder);
}

// Of a job that has not been published: nobody else knows of them.
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

}  // namespace

void require_no_job(const std::string& folder) {
    const std::string path = manifest_path(folder);
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, failed)))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: is there already; kith groundtruth run {} goes on with it", path, folder));
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
        MatrixWriter writer(outputs, numbers, {"", square ? job.base.cols : 1, job.base.cols, ElementType::f64});
        writer.append(job.numbers.data(), square ? job.base.cols : 1);
        writer.commit();
    }
    Json json = manifest_json(job);
    json["checksum"] = checksum_of(json.dump());
    const std::string text = json.dump(1) + "\n";
    outputs.add_bytes("the manifest", path);
    FileWriter writer(outputs, path);
    writer.write(text.data(), static_cast<std::int64_t>(text.size()));
    writer.finish();
    outputs.commit();
    publish(path, job.folder);
    unpublished.keep();
}

Job read_job(const std::string& folder) {
    const std::string path = manifest_path(folder);
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: expected the manifest of a job, made by kith groundtruth init {}", path, folder));
    }
    std::ostringstream text;
    text << file.rdbuf();
    try {
        Json json = Json::parse(text.str());
        const auto checksum = json.at("checksum").get<std::uint32_t>();
        json.erase("checksum");
        if (checksum_of(json.dump()) != checksum) throw Error(ErrorCode::bad_file, fmt::format("{}: damaged", path));
        if (json.at("manifest").get<int>() != manifest_format)
            throw Error(ErrorCode::bad_file,
                        fmt::format("{}: made by kith {}; this one ({}) reads manifests of format {}", path,
                                    json.at("kith").get<std::string>(), KITH_VERSION, manifest_format));
        return job_from(folder, json);
    } catch (const Json::exception&) {
        throw Error(ErrorCode::bad_file, fmt::format("{}: damaged", path));
    }
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
