// The bytes of a file to read, plain or gzipped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/format.h"
#include "io/regular_file.h"

namespace kith::io {

// "-" is standard input: a copy of it, which is made when it is first opened.
bool is_standard_input(std::string_view file);
std::string name_in_messages(const std::string& file);

// Throws cancelled where `proceed` says so.
void require_proceed(const Proceed& proceed);

// Readers ask whether to go on after at most so many bytes.
constexpr std::int64_t polled_bytes = std::int64_t{16} << 20;

class ByteInput {
public:
    virtual ~ByteInput() = default;
    const std::string& path() const { return path_; }
    // Bytes that are really there: what is compressed is counted by decompressing it once.
    std::int64_t size() { return size_within(INT64_MAX - 1); }
    // size(), or any number above `limit` where there are more: counts no further.
    virtual std::int64_t size_within(std::int64_t) { return size_; }
    virtual bool is_counted() const { return true; }
    // No more bytes than these can be there; counts nothing.
    virtual std::int64_t most_bytes() const { return size_; }
    // Shows `look` what is decompressed as it is counted, in order, from the start: what
    // contradicts a header need not be counted to its end. Nothing is shown of what needs no
    // counting, nor where counting has gone too far already.
    using Look = std::function<void(const std::byte* bytes, std::int64_t count)>;
    virtual void watch(const Look&) {}
    // Whether each change of the place to read from costs all the bytes before it.
    virtual bool is_sequential() const { return false; }
    // Throws out_of_memory where a matrix of `bytes`, described by `what`, will be held in memory
    // and does not fit. To be called before size(), so that a small file of many bytes is refused
    // at once.
    void require_room(std::int64_t bytes, const std::string& what) const;
    bool held() const { return held_; }
    // Throws bad_file unless all of [offset, offset + count) is there.
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
    // Throws cancelled where the caller wants no more. Between any two calls lie at most 16 MiB.
    void poll() const { require_proceed(proceed_); }
    virtual void fetch(std::int64_t offset, std::byte* out, std::int64_t count) = 0;

    std::string path_;
    Proceed proceed_;
    std::int64_t size_ = 0;  // as far as it was counted

private:
    bool held_;
};

// Gunzips names that end in ".gz". Throws bad_file.
std::unique_ptr<ByteInput> open_bytes(const Location& location);

// As above, for formats of one matrix per file: invalid_argument where a data set is named.
std::unique_ptr<ByteInput> open_input(const Location& location);

bool is_gzip_name(std::string_view path);

// A regular file, open for reading, and how it was at that time.
class OpenFile {
public:
    // Throws bad_file; cancelled while standard input is copied.
    explicit OpenFile(const Location& location);

    const std::string& path() const { return path_; }  // for messages
    int descriptor() const { return file_.descriptor(); }
    std::int64_t size() const { return file_.size(); }
    // Throws bad_file if the file is no longer as it was when it was opened: what was read since
    // may be of two files, or, beyond a new end, of none. To be called after each read.
    void require_unchanged() const;

private:
    std::string path_;
    RegularFile file_;
};

}  // namespace kith::io
