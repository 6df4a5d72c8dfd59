// Writes and parses manifests.
#include "jobs/files/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/path.h"
#include "jobs/files/checksum.h"
#include "jobs/files/fields.h"
#include "kith/error.h"
#include "kith/version.h"

namespace kith::groundtruth {
namespace {

constexpr int manifest_format = 1;
// A piece is an object of five numbers; files and other values are few in comparison.
constexpr std::int64_t most_values = most_pieces * 8;
constexpr std::size_t id_digits = 16, longest_version = 64, longest_path = 8192;  // bytes

std::uint32_t checksum_of(std::string_view text) {
    Checksum sum;
    sum.add(text.data(), text.size());
    return sum.value();
}

// ---------------------------------------------------------------- to text

// Numbers of binary64 are written as strings: JSON has no infinity.
Json metric_json(const Job& job) {
    const Metric& metric = job.metric;
    Json json = {{"name", name(metric.id)},
                 {"p", fmt::format("{}", metric.p)},
                 {"packed_bits", metric.packed_bits}};
    if (metric.id == MetricId::formula) {
        json["formula"] = metric.formula;
        json["start"] = fmt::format("{}", metric.start);
    }
    if (!job.numbers.empty()) {
        json["estimated"] = job.estimated;
        json["numbers_checksum"] = groundtruth::checksum_of(job.numbers);
    }
    return json;
}

// Paths within the folder are relative to it, so that the folder can be moved.
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

// ---------------------------------------------------------------- from text

ElementType type_named(const Fields& fields, const char* key) {
    const std::string text = fields.text(key);
    for (const ElementType type :
         {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i8,
          ElementType::u8, ElementType::i32, ElementType::i64}) {
        if (text == name(type)) return type;
    }
    fields.refuse(key, "an element type");
}

std::string found_from(const std::string& folder, const Fields& file) {
    const std::string named = file.text("path");
    const std::filesystem::path path = named;
    const bool climbs =
        path.is_relative() && std::find(path.begin(), path.end(), "..") != path.end();
    if (named.empty() || named.size() > longest_path || climbs)
        file.refuse("path", "a path within the folder of the job, or an absolute one");
    std::error_code failed;
    std::string found =
        std::filesystem::absolute(std::filesystem::path(folder) / named, failed).string();
    if (failed)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: has no absolute path: {}", folder, failed.message()));
    if (!io::standard_input_of(found).empty())
        file.refuse("path", "a file that can be read again and again");
    return found;
}

RowPiece piece_from(const Json& json, const std::string& what) {
    const Fields fields(json, what);
    RowPiece piece;
    piece.file = fields.integer("file", 0, INT64_MAX);
    piece.file_row = fields.integer("file_row", 0, INT64_MAX);
    piece.first = fields.integer("first", 0, INT64_MAX);
    piece.rows = fields.integer("rows", 1, INT64_MAX);
    piece.checksum = static_cast<std::uint32_t>(fields.integer("checksum", 0, UINT32_MAX));
    return piece;
}

// Throws unless the pieces cover the rows of the files in order, each exactly once.
void require_whole(const Rows& rows, const std::string& what) {
    const auto files = static_cast<std::int64_t>(rows.files.size());
    std::int64_t file = 0, file_row = 0, first = 0, number = 0;
    for (const RowPiece& piece : rows.pieces) {
        const std::int64_t left =
            file < files ? rows.files[static_cast<std::size_t>(file)].rows - file_row : 0;
        if (piece.file != file || piece.file_row != file_row || piece.first != first ||
            piece.rows > left)
            throw Error(ErrorCode::bad_file,
                        fmt::format("{}: pieces[{}]: expected at most {} rows from row {} of file "
                                    "{}, row {} of all; "
                                    "found {} from row {} of file {}, row {} of all",
                                    what, number, left, file_row, file, first, piece.rows,
                                    piece.file_row, piece.file, piece.first));
        ++number;
        first += piece.rows;
        file_row += piece.rows;
        if (piece.rows < left) continue;
        ++file;
        file_row = 0;
    }
    if (file != files)
        throw Error(ErrorCode::bad_file, fmt::format("{}: pieces: expected all {} rows, found {}",
                                                     what, rows.count, first));
}

Rows rows_from(const std::string& folder, const Fields& fields, const std::string& what) {
    Rows rows;
    rows.format = fields.text("format");
    rows.type = type_named(fields, "type");
    const std::int64_t most_cols = INT64_MAX / static_cast<std::int64_t>(size_of(rows.type));
    rows.cols = fields.integer("cols", 1, most_cols);
    rows.count = fields.integer("rows", 1, most_cols / rows.cols);
    std::int64_t left = rows.count;
    for (const Json& json : fields.array("files")) {
        const Fields file(json, fmt::format("{}: files[{}]", what, rows.files.size()));
        rows.files.push_back(
            {found_from(folder, file), file.integer("rows", 1, std::max<std::int64_t>(left, 1))});
        left -= rows.files.back().rows;
    }
    if (left != 0) fields.refuse("rows", fmt::format("{}, as its files have", rows.count - left));
    const Json& pieces = fields.array("pieces");
    if (pieces.size() > static_cast<std::size_t>(most_pieces))
        throw Error(ErrorCode::bad_file, fmt::format("{}: {} pieces; expected at most {}", what,
                                                     pieces.size(), most_pieces));
    for (const Json& piece : pieces)
        rows.pieces.push_back(
            piece_from(piece, fmt::format("{}: pieces[{}]", what, rows.pieces.size())));
    require_whole(rows, what);
    return rows;
}

bool is_same(const Rows& a, const Rows& b) {
    const auto same_file = [](const RowFile& x, const RowFile& y) {
        return x.path == y.path && x.rows == y.rows;
    };
    return a.format == b.format && a.count == b.count && a.cols == b.cols && a.type == b.type &&
           std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(), same_file);
}

std::optional<std::uint32_t> read_metric(const Fields& fields, Job& job) {
    Metric& metric = job.metric;
    if (fields.has("formula")) {
        metric.id = MetricId::formula;
        metric.formula = fields.text("formula");
        metric.start = fields.real_in_text("start");
    } else {
        try {
            metric = metric_named(fields.text("name"));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument) throw;
            fields.refuse("name", "a metric");
        }
    }
    metric.p = fields.real_in_text("p");
    metric.packed_bits = fields.flag("packed_bits");
    // Each unit would estimate different numbers from its own shard.
    if (metric.id != MetricId::mahalanobis && metric.id != MetricId::seuclidean)
        return std::nullopt;
    job.estimated = fields.flag("estimated");
    return static_cast<std::uint32_t>(fields.integer("numbers_checksum", 0, UINT32_MAX));
}

bool is_id(const std::string& text) {
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return text.size() == id_digits && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_version(const std::string& text) {
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    return text.size() <= longest_version && std::all_of(text.begin(), text.end(), is_printable);
}

// The sizes of a unit's file, and of the whole result, must fit in 64 bits.
void require_sizes(const Job& job, const Fields& fields) {
    constexpr std::int64_t cell = 2 * sizeof(std::int64_t), beside = 128;
    if (job.k > (INT64_MAX - beside) / cell / job.queries.count)
        fields.refuse("k", fmt::format("fewer neighbours of {} queries", job.queries.count));
    if (job.shards() > most_units / job.blocks())
        throw Error(ErrorCode::bad_file,
                    fmt::format("{} shards x {} blocks; expected at most {} units", job.shards(),
                                job.blocks(), most_units));
}

}  // namespace

std::uint32_t checksum_of(const std::vector<double>& numbers) {
    Checksum sum;
    sum.add(numbers.data(), numbers.size() * sizeof(double));
    return sum.value();
}

std::string manifest_text(const Job& job) {
    Json json = {{"manifest", manifest_format},
                 {"kith", job.version},
                 {"job", job.id},
                 {"command", job.graph ? "graph" : "search"},
                 {"k", job.k},
                 {"memory", job.memory},
                 {"metric", metric_json(job)},
                 {"base", rows_json(job.folder, job.base)},
                 {"queries", rows_json(job.folder, job.queries)}};
    json["checksum"] = checksum_of(json.dump());
    std::string text = json.dump(1) + "\n";
    if (static_cast<std::int64_t>(text.size()) > longest_manifest)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "{}: a manifest of {} bytes; expected at most {}: fewer or shorter names of files",
                job.folder, text.size(), longest_manifest));
    return text;
}

Manifest parse_manifest(std::string_view text, const std::string& folder, const std::string& path) {
    const std::string damaged = path + ": damaged";
    Json json = parse_json(text, damaged, most_values);
    const Fields fields(json, damaged);
    const std::int64_t checksum = fields.integer("checksum", 0, UINT32_MAX);
    json.erase("checksum");
    if (const std::uint32_t found = checksum_of(json.dump()); found != checksum)
        throw Error(ErrorCode::bad_file, fmt::format("{}: expected checksum {:08x}, found {:08x}",
                                                     damaged, checksum, found));
    const std::string version = fields.text("kith");
    if (!is_version(version)) fields.refuse("kith", "a version");
    if (fields.integer("manifest", 0, INT64_MAX) != manifest_format)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: made by kith {}; this one ({}) reads manifests of format {}",
                                path, version, KITH_VERSION, manifest_format));
    Manifest manifest;
    Job& job = manifest.job;
    job.folder = folder;
    job.version = version;
    job.id = fields.text("job");
    if (!is_id(job.id)) fields.refuse("job", fmt::format("{} hexadecimal digits", id_digits));
    const std::string command = fields.text("command");
    if (command != "graph" && command != "search") fields.refuse("command", "search or graph");
    job.graph = command == "graph";
    job.k = fields.integer("k", 1, INT64_MAX);
    job.memory = fields.integer("memory", 1, INT64_MAX);
    job.base = rows_from(folder, fields.object("base"), damaged + ": base");
    job.queries = rows_from(folder, fields.object("queries"), damaged + ": queries");
    if (job.graph && !is_same(job.base, job.queries))
        throw Error(ErrorCode::bad_file,
                    damaged + ": queries: expected the files of base, as of a graph");
    if (job.queries.cols != job.base.cols)
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}: queries: cols: expected {}, as base has, found {}", damaged,
                                job.base.cols, job.queries.cols));
    require_sizes(job, fields);
    manifest.numbers_checksum = read_metric(fields.object("metric"), job);
    return manifest;
}

}  // namespace kith::groundtruth
