// Kernels compiled at run time, kept for the life of the process.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace kith::gpu {

// Kernel `name` of a text (see compile_cuda) for the current device: compiled at the first call.
// Safe from several threads.
cudaKernel_t compiled_kernel(const std::string& text, const char* name, bool fuse = false);

}  // namespace kith::gpu
