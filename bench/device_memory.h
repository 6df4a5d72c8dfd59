// Arrays where the search runs: on the host, or copied to a CUDA device where this build has the GPU backend.
#pragma once

#include <cstddef>
#include <memory>

namespace kith::bench {

// Freed with its last owner. Throws kith::Error.
std::shared_ptr<void> device_array(int device, std::size_t bytes);
void copy_to_device(void* to, const void* from, std::size_t bytes);

}  // namespace kith::bench
