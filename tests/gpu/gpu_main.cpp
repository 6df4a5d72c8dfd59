// main() of the GPU tests: without a CUDA device it says why and ends with the status that ctest counts as skipped.
// With KITH_EXACT_BLOCKS in the environment blocks of device memory are as long as they were asked to be, and used
// once.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "gpu/runtime/memory/call_memory.h"

namespace {
constexpr int skipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt
}

int main(int argc, char** argv) {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("GPU tests: skipped, no CUDA device here (%s)\n",
                    status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status));
        return skipped;
    }
    if (std::getenv("KITH_EXACT_BLOCKS")) kith::gpu::keeps_blocks = false;
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
