// Arrays on a CUDA device, where this build has the GPU backend.
#pragma once

#include <cstddef>
#include <memory>

namespace kith::bench {

// Freed with its last owner. Throws kith::Error.
std::shared_ptr<void> device_array(int device, std::size_t bytes);

}  // namespace kith::bench
