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

// Returning false cancels the operation that calls it; may be empty.
using Proceed = std::function<bool()>;

// A requested range of rows.
struct RowRange {
    std::int64_t first = 0;
    std::optional<std::int64_t> count{};  // without: to the last row
};

// A file to read, and the data set in it ("" if none was named).
struct Location {
    std::string file;
    std::string dataset{};
    Proceed proceed{};               // called at least once per 16 MiB read
    bool gzipped = false;            // regardless of the name
    bool held = false;               // all rows will be in memory at once
    std::optional<RowRange> rows{};  // no other rows will be read
    TableOptions table{};            // for text formats
};

class PendingFile;
class Hdf5Output;

// A file to write. Messages name `file`.
struct Target {
    std::string file;
    std::string dataset;
    PendingFile* pending;
    Hdf5Output* hdf5;  // null for other formats
};

// An open matrix. info() is validated against the file's size: rows, cols >= 1. rows * cols *
// size_of(type) fits in 64 bits and, before compression, in the file.
class Source {
public:
    explicit Source(FileInfo info) : info_(std::move(info)) {}
    virtual ~Source() = default;
    const FileInfo& info() const { return info_; }
    // True if rows should be read all at once, because each extends across the whole file.
    virtual bool reads_whole() const { return false; }
    // Reads rows [first, first + count), within [0, rows), to dense storage. Allocates at most the
    // size of the block.
    virtual void read(std::int64_t first, std::int64_t count, std::byte* out) = 0;

protected:
    FileInfo info_;
};

// A matrix being written.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void append(const std::byte* rows, std::int64_t count) = 0;
    // Completes the file after the last append(), and reports deferred write errors.
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
        const Location&);  // of the matrices in a file; null if it has only one
};

#define KITH_FORMAT(name, suffixes, what)   \
    SourcePtr open_##name(const Location&); \
    SinkPtr create_##name(const Target&, const FileInfo&);
#define KITH_CONTAINER(name, suffixes, what) \
    KITH_FORMAT(name, suffixes, what)        \
    std::vector<std::string> names_##name(const Location&);
#include "io/formats.def"
#undef KITH_FORMAT

// How to get a format that a build lacks, for messages.
constexpr const char* hdf5_remedy =
    "a build that finds libhdf5 (Debian: libhdf5-dev; docs/install.md)";
constexpr const char* parquet_remedy =
    "a build that finds Apache Arrow's C++ library (libarrow and libparquet; docs/install.md)";

// All formats, in the order of formats.def.
std::span<const Format> formats();
// False: the format hdf5 rejects every file.
bool has_hdf5();
// Likewise for the format parquet.
bool has_parquet();

// The name of a container's only matrix. Throws bad_file with the list if there are several, or
// none.
std::string only_name(const Location& location, const std::vector<std::string>& names);

// "a, b, c", at most 50 of them; "none" for an empty list.
std::string in_words(const std::vector<std::string>& names);

// rows * cols * size_of(type), or -1 if it does not fit in 64 bits.
std::int64_t matrix_bytes(std::int64_t rows, std::int64_t cols, ElementType type);

// True if queries and k are at least 1, and ids has queries * k elements, computed without
// overflow.
bool has_all_ids(const Neighbors& neighbors);

// Throws invalid_argument unless `types` (separated by blanks) contains info.type.
void require_type(const Target& target, const FileInfo& info, std::string_view types);

// Reverses the bytes of each element.
void swap_bytes(std::byte* elements, std::size_t count, std::size_t size);

}  // namespace kith::io
