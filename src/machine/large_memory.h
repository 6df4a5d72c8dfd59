// Aligned memory of the host, uninitialised; large blocks ask for huge pages, which makes their
// first touch, and registering them with a device, many times cheaper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kith::machine {

// Aligned to a cache line at least. Throws Error{out_of_memory}, naming the size.
void* allocate_bytes(std::size_t bytes);
void release_bytes(void* p) noexcept;

struct ReleaseBytes {
    void operator()(std::byte* p) const noexcept { release_bytes(p); }
};
using LargeMemory = std::unique_ptr<std::byte[], ReleaseBytes>;
inline LargeMemory make_large_memory(std::int64_t bytes) {
    return LargeMemory(static_cast<std::byte*>(allocate_bytes(static_cast<std::size_t>(bytes))));
}

}  // namespace kith::machine
