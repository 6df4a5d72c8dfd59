// A regular file, opened for reading without waiting.
#pragma once

#include <cstdint>
#include <string>

namespace kith::io {

// Pipes and devices are refused, by whatever link they are named: opening a pipe to read waits for
// its writer, opening a device may act on it, and reading it may never end.
class RegularFile {
public:
    RegularFile() = default;  // none
    // Where the system does not open it, is_open() is false and error() says why. Throws bad_file,
    // naming it `shown`, where it is no regular file; of a pipe `remedy` follows.
    RegularFile(const std::string& path, const std::string& shown, const char* remedy = "");
    ~RegularFile();
    RegularFile(RegularFile&& other) noexcept;
    RegularFile& operator=(RegularFile&& other) noexcept;

    bool is_open() const { return descriptor_ >= 0; }
    int error() const { return error_; }  // errno of opening
    int descriptor() const { return descriptor_; }
    std::int64_t size() const { return size_; }        // in bytes, when it was opened
    std::int64_t changed() const { return changed_; }  // nanoseconds since 1970, likewise

    // The next bytes, `most` of them unless the file ends before. Throws bad_file, naming it
    // `shown`.
    std::int64_t read(void* to, std::int64_t most, const std::string& shown) const;

private:
    int descriptor_ = -1, error_ = 0;
    std::int64_t size_ = 0, changed_ = 0;
};

}  // namespace kith::io
