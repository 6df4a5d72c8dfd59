// The rate at which a device can be given points that lie on the host.
#pragma once

#include <cstddef>

namespace kith::bench {

// Median seconds of a copy of `bytes` from pinned host memory. Throws kith::Error.
double pinned_copy_seconds(int device, std::size_t bytes);

}  // namespace kith::bench
