// Bytes that are written one after the other and read back: a file without a name, which goes with
// its descriptor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace kith::io {

class Spool {
public:
    static constexpr std::int64_t block_bytes = 1 << 20;

    // In the folder of a path, which messages name. Throws bad_file, as the others do.
    explicit Spool(const std::string& beside);
    ~Spool();
    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;

    std::int64_t size() const { return size_; }
    void write(const void* bytes, std::int64_t count);
    void read(std::int64_t at, void* bytes, std::int64_t count) const;
    // All of it, in blocks.
    template <class Take>
    void read(const Take& take) const {
        std::vector<char> block(static_cast<std::size_t>(std::min(size_, block_bytes)));
        for (std::int64_t at = 0; at < size_; at += block_bytes) {
            const std::int64_t count = std::min(block_bytes, size_ - at);
            read(at, block.data(), count);
            take(block.data(), count);
        }
    }

private:
    [[noreturn]] void fail(const char* what) const;

    std::string beside_;
    int file_ = -1;
    std::int64_t size_ = 0;
};

}  // namespace kith::io
