// The members of a sparse matrix' .npz, of neighbours and of rows of any lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/zip.h"

namespace kith::io {

// An array of that type ("<f4") and shape ("12,"; "" of a scalar), whose bytes `produce` puts,
// twice.
void add_array(ZipWriter& zip, const std::string& name, const std::string& descr,
               const std::string& shape, std::int64_t bytes,
               const std::function<void(const Put&)>& produce);
// What is the same in all of them: format and shape.
void add_csr_shape(ZipWriter& zip, std::int64_t rows, std::int64_t cols);

}  // namespace kith::io
