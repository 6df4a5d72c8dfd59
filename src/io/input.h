// The bytes of a file to read, plain or gzipped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/format.h"

namespace kith::io {

class Input {
public:
    virtual ~Input() = default;
    const std::string& path() const { return path_; }
    // Bytes that are really there: for gzip, counted by decompressing once.
    std::int64_t size() const { return size_; }
    // Throws bad_file unless all of [offset, offset + count) is there.
    void read_at(std::int64_t offset, void* out, std::int64_t count);

    template <class T>
    T value_at(std::int64_t offset) {
        T value;
        read_at(offset, &value, sizeof value);
        return value;
    }

protected:
    explicit Input(std::string path) : path_(std::move(path)) {}
    virtual void fetch(std::int64_t offset, std::byte* out, std::int64_t count) = 0;

    std::string path_;
    std::int64_t size_ = 0;
};

// Gunzips names that end in ".gz". Throws bad_file.
std::unique_ptr<Input> open_input(const std::string& path);

// As above, for formats of one matrix per file: invalid_argument where a data set is named.
std::unique_ptr<Input> open_input(const Location& location);

bool is_gzip_name(std::string_view path);

// Opens a regular file for reading and gives its size. Throws bad_file.
int open_regular(const std::string& path, std::int64_t& size);

}  // namespace kith::io
