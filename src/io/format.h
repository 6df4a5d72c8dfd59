// The contract of a file format. A format is one file with open_NAME and create_NAME, and one line
// in formats.def.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kith/io.h"

namespace kith::io {

static_assert(std::endian::native == std::endian::little,
              "the formats are little-endian and read without conversion");

// False cancels what calls it; may be empty.
using Proceed = std::function<bool()>;

// Rows of a file that are asked for.
struct RowRange {
    std::int64_t first = 0;
    std::optional<std::int64_t> count{};  // without: to the last
};

// A file to read, and the data set in it ("" where none was named).
struct Location {
    std::string file;
    std::string dataset{};
    Proceed proceed{};               // asked at least every 16 MiB of reading
    bool gzipped = false;            // whatever the name says
    bool held = false;               // all rows will be in memory at once
    std::optional<RowRange> rows{};  // no others will be read
    TableOptions table{};            // of formats of text
};

class PendingFile;
class Hdf5Output;

// A file to write. Messages name `file`.
struct Target {
    std::string file;
    std::string dataset;
    PendingFile* pending;
    Hdf5Output* hdf5;  // null in other formats
};

// An open matrix. info() has been checked against the file's size: rows, cols >= 1, and rows * cols
// * size_of(type) fits in 64 bits and, before compression, in the file.
class Source {
public:
    explicit Source(FileInfo info) : info_(std::move(info)) {}
    virtual ~Source() = default;
    const FileInfo& info() const { return info_; }
    // Whether rows are best read all at once: they lie across the whole file.
    virtual bool reads_whole() const { return false; }
    // Rows [first, first + count), within [0, rows), dense. Allocates at most the size of the
    // block.
    virtual void read(std::int64_t first, std::int64_t count, std::byte* out) = 0;

protected:
    FileInfo info_;
};

// A matrix being written.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void append(const std::byte* rows, std::int64_t count) = 0;
    // Everything was appended: completes the file and reports what the system refused until now.
    virtual void finish() = 0;
};

using SourcePtr = std::unique_ptr<Source>;
using SinkPtr = std::unique_ptr<Sink>;

struct Format {
    const char* name;
    const char* suffixes;  // of file names, separated by blanks; ".gz" may follow each
    const char* what;
    SourcePtr (*open)(const Location&);
    SinkPtr (*create)(const Target&, const FileInfo&);
    std::vector<std::string> (*names)(
        const Location&);  // of the matrices in a file; null where it has but one
};

#define KITH_FORMAT(name, suffixes, what)   \
    SourcePtr open_##name(const Location&); \
    SinkPtr create_##name(const Target&, const FileInfo&);
#define KITH_CONTAINER(name, suffixes, what) \
    KITH_FORMAT(name, suffixes, what)        \
    std::vector<std::string> names_##name(const Location&);
#include "io/formats.def"
#undef KITH_FORMAT

// What brings a format that a build lacks, for messages.
constexpr const char* hdf5_remedy =
    "a build that finds libhdf5 (Debian: libhdf5-dev; docs/install.md)";
constexpr const char* parquet_remedy =
    "a build that finds Apache Arrow's C++ library (libarrow and libparquet; docs/install.md)";

// All formats, in the order of formats.def.
std::span<const Format> formats();
// False: the format hdf5 refuses every file.
bool has_hdf5();
// The same of the format parquet.
bool has_parquet();

// The name of a container's only matrix. Throws bad_file with the list where there are several, or
// none.
std::string only_name(const Location& location, const std::vector<std::string>& names);

// "a, b, c", no more than 50 of them; "none".
std::string in_words(const std::vector<std::string>& names);

// rows * cols * size_of(type), or -1 where that does not fit in 64 bits.
std::int64_t matrix_bytes(std::int64_t rows, std::int64_t cols, ElementType type);

// Whether queries, k >= 1 and the ids are as many as their product, which is not taken modulo 2^64.
bool has_all_ids(const Neighbors& neighbors);

// Throws invalid_argument unless `types` (separated by blanks) has info.type.
void require_type(const Target& target, const FileInfo& info, std::string_view types);

// Reverses the bytes of each element.
void swap_bytes(std::byte* elements, std::size_t count, std::size_t size);

}  // namespace kith::io
