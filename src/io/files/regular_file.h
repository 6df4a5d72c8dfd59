// A regular file, opened for reading without waiting.
#pragma once

#include <cstdint>
#include <string>

namespace kith::io {

// Pipes and devices are rejected, also through links. Opening a pipe waits for its writer, opening
// a device may act on it, and reading it may never end.
class RegularFile {
public:
    RegularFile() = default;  // none
    // If the system cannot open it, is_open() is false and error() gives the reason. Throws
    // bad_file, naming it `shown`, if it is not a regular file; for a pipe `remedy` follows.
    RegularFile(const std::string& path, const std::string& shown, const char* remedy = "");
    ~RegularFile();
    RegularFile(RegularFile&& other) noexcept;
    RegularFile& operator=(RegularFile&& other) noexcept;

    bool is_open() const { return descriptor_ >= 0; }
    int error() const { return error_; }  // errno of opening
    int descriptor() const { return descriptor_; }
    std::int64_t size() const { return size_; }        // in bytes, when it was opened
    std::int64_t changed() const { return changed_; }  // nanoseconds since 1970, likewise

    // Reads the next `most` bytes, or fewer at the end of the file. Throws bad_file, naming it
    // `shown`.
    std::int64_t read(void* to, std::int64_t most, const std::string& shown) const;

private:
    int descriptor_ = -1, error_ = 0;
    std::int64_t size_ = 0, changed_ = 0;
};

}  // namespace kith::io
