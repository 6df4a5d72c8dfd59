// NVRTC, loaded when a formula first wants it: the library starts and searches without it.
#pragma once

#include <string>
#include <vector>

namespace kith::gpu {

// CUDA C++ as a cubin for compute capability `capability` (90 for 9.0); needs no device.
// Multiply-adds are not fused unless `fuse`. Throws device where NVRTC is not found, or does not
// compile the text.
std::vector<char> compile_cuda(const std::string& text, int capability, bool fuse = false);

}  // namespace kith::gpu
