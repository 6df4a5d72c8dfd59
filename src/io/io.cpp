// MatrixReader, MatrixWriter, read_matrix: the public face of the formats.
#include "kith/io.h"

#include <algorithm>
#include <cstring>

#include "io/errors.h"
#include "io/format.h"
#include "io/input.h"
#include "io/output_set.h"
#include "io/path.h"
#include "kith/memory.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

constexpr Format all_formats[] = {
#define KITH_FORMAT(name, suffixes, what) \
    {#name, suffixes, what, open_##name, create_##name, nullptr},
#define KITH_CONTAINER(name, suffixes, what) \
    {#name, suffixes, what, open_##name, create_##name, names_##name},
#include "io/formats.def"
#undef KITH_FORMAT
};

}  // namespace

std::span<const Format> formats() {
    return all_formats;
}

std::string only_name(const Location& location, const std::vector<std::string>& names) {
    if (names.size() == 1) return names[0];
    bad_file(name_in_messages(location.file),
             fmt::format("expected the name of a data set, as in {}/NAME, of: {}", location.file,
                         in_words(names)));
}

std::string in_words(const std::vector<std::string>& names) {
    constexpr std::size_t most = 50;
    std::string list;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
        list += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most) list += ", ...";
    return names.empty() ? "none" : list;
}

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t cols, ElementType type) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, cols, &bytes)) return -1;
    if (__builtin_mul_overflow(bytes, static_cast<std::int64_t>(size_of(type)), &bytes)) return -1;
    return bytes;
}

bool has_all_ids(const Neighbors& neighbors) {
    std::size_t cells = 0;
    return neighbors.queries >= 1 && neighbors.k >= 1 &&
           !__builtin_mul_overflow(neighbors.queries, neighbors.k, &cells) &&
           neighbors.ids.size() == cells;
}

void require_type(const Target& target, const FileInfo& info, std::string_view types) {
    const std::string_view wanted = name(info.type);
    for (std::size_t start = 0; start < types.size();) {
        const std::size_t end = std::min(types.find(' ', start), types.size());
        if (types.substr(start, end - start) == wanted) return;
        start = end + 1;
    }
    bad_argument(
        fmt::format("{}: {} files hold {}, got {}", target.file, info.format, types, wanted));
}

void swap_bytes(std::byte* elements, std::size_t count, std::size_t size) {
    const auto each = [&](auto zero, auto swap) {
        for (std::size_t i = 0; i < count; ++i, elements += size) {
            decltype(zero) value = zero;
            std::memcpy(&value, elements, sizeof value);
            value = swap(value);
            std::memcpy(elements, &value, sizeof value);
        }
    };
    if (size == 2) each(std::uint16_t{}, [](std::uint16_t v) { return __builtin_bswap16(v); });
    if (size == 4) each(std::uint32_t{}, [](std::uint32_t v) { return __builtin_bswap32(v); });
    if (size == 8) each(std::uint64_t{}, [](std::uint64_t v) { return __builtin_bswap64(v); });
}

}  // namespace io

// ---------------------------------------------------------------- reading

struct MatrixReader::State {
    std::string path;
    io::SourcePtr source;
    FileInfo info;
    std::int64_t first = 0;  // of the selection, in the file
    io::Proceed proceed;
};

MatrixReader::MatrixReader(const std::string& path, const std::string& format)
    : MatrixReader(path, ReadOptions{format}) {}

MatrixReader::MatrixReader(const std::string& path, const ReadOptions& options)
    : state_(std::make_unique<State>()) {
    const machine::FloatState state;
    io::SourcePath parsed = io::parse_source(path);
    parsed.location.held = options.whole && !parsed.rows;
    parsed.location.rows = parsed.rows;
    parsed.location.proceed = options.proceed;
    state_->path = path;
    state_->proceed = options.proceed;
    state_->source = io::format_to_read(parsed.location, options.format).open(parsed.location);
    state_->info = state_->source->info();
    if (!parsed.rows) return;

    const std::int64_t rows = state_->info.rows;
    const std::int64_t first = parsed.rows->first;
    const std::int64_t count = parsed.rows->count.value_or(rows - std::min(first, rows));
    if (count < 1 || first > rows || count > rows - first) {
        io::bad_argument(
            fmt::format("{}: expected a range of at least one of the file's {} rows", path, rows));
    }
    state_->first = first;
    state_->info.rows = count;
}

MatrixReader::~MatrixReader() {
    const machine::FloatState state;
    state_.reset();
}
MatrixReader::MatrixReader(MatrixReader&&) noexcept = default;
MatrixReader& MatrixReader::operator=(MatrixReader&& other) noexcept {
    const machine::FloatState state;
    state_ = std::move(other.state_);
    return *this;
}

const FileInfo& MatrixReader::info() const {
    return state_->info;
}

void MatrixReader::read(std::int64_t first, std::int64_t count, void* out) {
    const machine::FloatState state;
    const std::int64_t rows = state_->info.rows;
    if (first < 0 || count < 0 || first > rows || count > rows - first) {
        io::bad_argument(fmt::format("{}: expected rows within [0, {}), got first {}, count {}",
                                     state_->path, rows, first, count));
    }
    if (count > 0) state_->source->read(state_->first + first, count, static_cast<std::byte*>(out));
}

Matrix read_matrix(const std::string& path, const std::string& format) {
    return read_matrix(path, ReadOptions{format});
}

Matrix read_matrix(const std::string& path, const ReadOptions& options) {
    const machine::FloatState state;
    ReadOptions whole = options;
    whole.whole = true;
    MatrixReader reader(path, whole);
    return read_matrix(reader);
}

Matrix read_matrix(MatrixReader& reader) {
    const machine::FloatState state;
    const std::string& path = reader.state_->path;
    Matrix matrix;
    matrix.info = reader.info();
    const FileInfo& info = matrix.info;
    const std::int64_t bytes = io::matrix_bytes(info.rows, info.cols, info.type);
    require_memory(bytes,
                   fmt::format("{} ({} x {} {})", path, info.rows, info.cols, name(info.type)));
    matrix.bytes.reserve(static_cast<std::size_t>(bytes));
    // The vector grows in steps, as the rows come: setting all of a large one to zero at once could
    // not be cancelled.
    const std::int64_t row_bytes = bytes / info.rows;
    const std::int64_t step = std::max<std::int64_t>(1, io::polled_bytes / row_bytes);
    const bool whole = reader.state_->source->reads_whole();
    for (std::int64_t first = 0; first < info.rows; first += step) {
        io::require_proceed(reader.state_->proceed);
        const std::int64_t count = std::min(step, info.rows - first);
        matrix.bytes.resize(static_cast<std::size_t>((first + count) * row_bytes));
        if (!whole) reader.read(first, count, matrix.bytes.data() + first * row_bytes);
    }
    if (whole) reader.read(0, info.rows, matrix.bytes.data());
    return matrix;
}

std::vector<std::string> data_sets(const std::string& path, const std::string& format) {
    const machine::FloatState state;
    io::Location location = io::parse_source(path).location;
    const io::Format& known = io::format_to_read(location, format);
    return known.names ? known.names(location) : std::vector<std::string>();
}

// ---------------------------------------------------------------- writing

struct MatrixWriter::State {
    std::unique_ptr<OutputSet> own;  // of a writer that stands alone
    io::Part* part;
    FileInfo info;
    std::int64_t appended = 0;
    io::SinkPtr sink;  // destroyed before the set removes the file
};

MatrixWriter::MatrixWriter(OutputSet& outputs, const std::string& path, const FileInfo& info)
    : state_(std::make_unique<State>()) {
    open(outputs, path, info);
}

MatrixWriter::MatrixWriter(const std::string& path, const FileInfo& info, bool force)
    : state_(std::make_unique<State>()) {
    const machine::FloatState state;
    state_->own = std::make_unique<OutputSet>(force);
    state_->own->add("the output", path, info.format);
    open(*state_->own, path, info);
}

void MatrixWriter::open(OutputSet& outputs, const std::string& path, const FileInfo& info) {
    const machine::FloatState state;
    io::Part& part = outputs.state().part(path);
    if (!part.format)
        io::bad_argument(fmt::format("{}: expected a matrix, and a file of bytes was added", path));
    if (info.rows < 1 || info.cols < 1 || io::matrix_bytes(info.rows, info.cols, info.type) < 0) {
        io::bad_argument(fmt::format(
            "{}: expected at least one row and one column and less than 2^63 bytes, got {} x {}",
            path, info.rows, info.cols));
    }
    state_->part = &part;
    state_->info = info;
    state_->info.format = part.format->name;
    state_->sink = part.format->create(part.target, state_->info);
}

MatrixWriter::~MatrixWriter() {
    const machine::FloatState state;
    state_.reset();
}
MatrixWriter::MatrixWriter(MatrixWriter&&) noexcept = default;
MatrixWriter& MatrixWriter::operator=(MatrixWriter&& other) noexcept {
    const machine::FloatState state;
    state_ = std::move(other.state_);
    return *this;
}

const FileInfo& MatrixWriter::info() const {
    return state_->info;
}

void MatrixWriter::append(const void* rows, std::int64_t count) {
    const machine::FloatState state;
    if (count < 0 || count > state_->info.rows - state_->appended) {
        io::bad_argument(fmt::format("{}: expected at most {} more rows, got {}",
                                     state_->part->path, state_->info.rows - state_->appended,
                                     count));
    }
    if (count == 0) return;
    state_->sink->append(static_cast<const std::byte*>(rows), count);
    state_->appended += count;
}

void MatrixWriter::commit() {
    const machine::FloatState state;
    if (state_->appended != state_->info.rows) {
        io::bad_argument(fmt::format("{}: expected {} rows before commit, got {}",
                                     state_->part->path, state_->info.rows, state_->appended));
    }
    if (!state_->sink) io::bad_argument(fmt::format("{}: committed already", state_->part->path));
    state_->sink->finish();
    state_->sink.reset();
    state_->part->written = true;
    if (state_->own) state_->own->commit();
}

// ---------------------------------------------------------------- help

bool has_format(const std::string& name) {
    const machine::FloatState state;
    const auto formats = io::formats();
    const auto named = [&](const io::Format& format) { return format.name == name; };
    return std::any_of(formats.begin(), formats.end(), named) &&
           (name != "hdf5" || io::has_hdf5()) && (name != "parquet" || io::has_parquet());
}

std::string formats_help() {
    const machine::FloatState state;
    std::string help;
    for (const io::Format& format : io::formats()) {
        const char* const remedy =
            std::string_view(format.name) == "hdf5" ? io::hdf5_remedy : io::parquet_remedy;
        const std::string what = has_format(format.name)
                                     ? format.what
                                     : fmt::format("not in this build; expected {}", remedy);
        help += fmt::format("{:<7} {:<44} {}\n", format.name, format.suffixes, what);
    }
    help +=
        "Every suffix but HDF5's may be followed by .gz. FILE:1000:5000 is rows 1000 to 5999, "
        "FILE:1000: row 1000 to "
        "the last. FILE - or /dev/stdin is standard input, of the format named by an option "
        "(gzipped: FORMAT.gz).\n";
    return help;
}

}  // namespace kith
