// Host access to matrices in device memory.
#pragma once

#include <cstddef>
#include <vector>

#include "kith/types.h"

namespace kith::api {

// A host copy, in `storage`, of a view in device memory. For a view in host memory, the view
// itself; `storage` stays empty.
MatrixView on_host(const MatrixView& view, std::vector<std::byte>& storage);

}  // namespace kith::api
