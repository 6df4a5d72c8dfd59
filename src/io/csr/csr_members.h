// The members of a sparse matrix' .npz, for neighbours and for rows of any lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/zip/zip.h"

namespace kith::io {

// Adds an array of that type ("<f4") and shape ("12,"; "" for a scalar). `produce` writes its bytes
// and is called twice.
void add_array(ZipWriter& zip, const std::string& name, const std::string& descr,
               const std::string& shape, std::int64_t bytes,
               const std::function<void(const Put&)>& produce);
// Adds the arrays format and shape, which all of these files share.
void add_csr_shape(ZipWriter& zip, std::int64_t rows, std::int64_t cols);

}  // namespace kith::io
