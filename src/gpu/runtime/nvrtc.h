// NVRTC, loaded at the first use of a formula: the library starts and searches without it.
#pragma once

#include <string>
#include <vector>

namespace kith::gpu {

// Compiles CUDA C++ to a cubin for compute capability `capability` (90 for 9.0); needs no device.
// Multiply-adds are not fused unless `fuse`. Throws a device error if NVRTC is not found or does
// not compile the text.
std::vector<char> compile_cuda(const std::string& text, int capability, bool fuse = false);

}  // namespace kith::gpu
