// Writing a zip archive of stored members, which is what NumPy's .npz is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kith::io {

// Receives bytes.
using Put = std::function<void(const void* bytes, std::int64_t count)>;

// Members without compression, with 64-bit sizes (zip64) throughout, in the order of add().
class ZipWriter {
public:
    explicit ZipWriter(Put put) : put_(std::move(put)) {}
    // A member of `size` bytes. `produce` puts them; it is called twice and must put the same: its
    // checksum comes first.
    void add(const std::string& name, std::int64_t size,
             const std::function<void(const Put&)>& produce);
    // The directory, after the last member.
    void finish();

private:
    struct Member {
        std::string name;
        std::uint32_t crc;
        std::uint64_t size, offset;
    };
    void write(const std::string& bytes);

    Put put_;
    std::uint64_t offset_ = 0;
    std::vector<Member> members_;
};

}  // namespace kith::io
