// Host memory that kernels read in place, over the bus (host-resident points).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kith::gpu {

// Pageable memory, registered with every device for reading until its last owner goes. Memory that
// other owners or the caller have registered is used as it is; the caller must keep it registered.
// Devices use the host's address.
class RegisteredMemory {
public:
    RegisteredMemory() = default;  // none
    // Throws a device error if it cannot be registered, such as pages of a mapped file; then
    // nothing is.
    RegisteredMemory(const void* data, std::int64_t bytes);
    ~RegisteredMemory();
    RegisteredMemory(RegisteredMemory&& other) noexcept : start_(std::exchange(other.start_, 0)) {}
    RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
        std::swap(start_, other.start_);
        return *this;
    }

    // The number of ranges that this process has registered.
    static std::size_t count();

private:
    std::uintptr_t start_ = 0;  // start of the range that holds it; 0: none of ours
};

}  // namespace kith::gpu
