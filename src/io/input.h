// The bytes of a file to read, plain or gzipped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/files/regular_file.h"
#include "io/format.h"

namespace kith::io {

// "-" is standard input. A copy of it is made when it is first opened.
bool is_standard_input(std::string_view file);
std::string name_in_messages(const std::string& file);

// Throws cancelled if `proceed` returns false.
void require_proceed(const Proceed& proceed);

// Readers call Proceed at least once per this many bytes.
constexpr std::int64_t polled_bytes = std::int64_t{16} << 20;

class ByteInput {
public:
    virtual ~ByteInput() = default;
    const std::string& path() const { return path_; }
    // The actual number of bytes: compressed data are counted by decompressing them once.
    std::int64_t size() { return size_within(INT64_MAX - 1); }
    // size(), or any number above `limit` if there are more: counting stops there.
    virtual std::int64_t size_within(std::int64_t) { return size_; }
    virtual bool is_counted() const { return true; }
    // An upper bound on the number of bytes; counts nothing.
    virtual std::int64_t most_bytes() const { return size_; }
    // Calls `look` with decompressed bytes as they are counted, in order from the start: a
    // contradiction to the header is found without counting to the end. It is not called for input
    // that needs no counting, nor if counting has already gone too far.
    using Look = std::function<void(const std::byte* bytes, std::int64_t count)>;
    virtual void watch(const Look&) {}
    // True if each seek costs reading all bytes before the new position.
    virtual bool is_sequential() const { return false; }
    // Throws out_of_memory if a matrix of `bytes`, described by `what`, will be held in memory and
    // does not fit. Call it before size(), so that a small file that decompresses to many bytes is
    // rejected at once.
    void require_room(std::int64_t bytes, const std::string& what) const;
    bool held() const { return held_; }
    // Throws bad_file unless all of [offset, offset + count) exists.
    void read_at(std::int64_t offset, void* out, std::int64_t count);

    template <class T>
    T value_at(std::int64_t offset) {
        T value;
        read_at(offset, &value, sizeof value);
        return value;
    }

protected:
    explicit ByteInput(const Location& location)
        : path_(name_in_messages(location.file)),
          proceed_(location.proceed),
          held_(location.held) {}
    // Throws cancelled if the caller cancels. Must be called at least once per 16 MiB.
    void poll() const { require_proceed(proceed_); }
    virtual void fetch(std::int64_t offset, std::byte* out, std::int64_t count) = 0;

    std::string path_;
    Proceed proceed_;
    std::int64_t size_ = 0;  // as far as it was counted

private:
    bool held_;
};

// Decompresses files with names that end in ".gz". Throws bad_file.
std::unique_ptr<ByteInput> open_bytes(const Location& location);

// Likewise, for formats of one matrix per file: throws invalid_argument if a data set is named.
std::unique_ptr<ByteInput> open_input(const Location& location);

bool is_gzip_name(std::string_view path);

// A regular file, open for reading, and its state at that time.
class OpenFile {
public:
    // Throws bad_file; cancelled while standard input is copied.
    explicit OpenFile(const Location& location);

    const std::string& path() const { return path_; }  // for messages
    int descriptor() const { return file_.descriptor(); }
    std::int64_t size() const { return file_.size(); }
    // Throws bad_file if the file has changed since it was opened: bytes read meanwhile may mix two
    // versions, or lie beyond a new end. Call it after each read.
    void require_unchanged() const;

private:
    std::string path_;
    RegularFile file_;
};

}  // namespace kith::io
