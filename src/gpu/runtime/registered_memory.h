// Host memory that kernels read where it lies, over the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kith::gpu {

// Pageable memory that is registered with every device, for reading, until its last owner goes;
// memory that already is, by other owners or by the caller (who must keep it so), is taken as it
// is. Devices have it at the host's address.
class RegisteredMemory {
public:
    RegisteredMemory() = default;  // none
    // Throws device where it cannot be registered, as pages of a mapped file: then nothing is.
    RegisteredMemory(const void* data, std::int64_t bytes);
    ~RegisteredMemory();
    RegisteredMemory(RegisteredMemory&& other) noexcept : start_(std::exchange(other.start_, 0)) {}
    RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
        std::swap(start_, other.start_);
        return *this;
    }

    // Ranges that this process has registered.
    static std::size_t count();

private:
    std::uintptr_t start_ = 0;  // of the range that holds it; 0: none of ours
};

}  // namespace kith::gpu
