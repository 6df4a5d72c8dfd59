// Matrices in device memory, as the host reads them.
#pragma once

#include <cstddef>
#include <vector>

#include "kith/types.h"

namespace kith::api {

// A host copy of a view in device memory; of one in host memory, the view itself (`storage` stays
// empty).
MatrixView on_host(const MatrixView& view, std::vector<std::byte>& storage);

}  // namespace kith::api
