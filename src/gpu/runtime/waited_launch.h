// Launches that are waited for at once, as CUDA graphs of one kernel: faster than launching the
// kernel.
#pragma once

#include <cuda_runtime.h>

namespace kith::gpu {

// Setting arguments, launching a graph and waiting takes three quarters of the time of a kernel
// launch and wait (measured with an empty kernel of 8 blocks in a cluster). Graphs come from a pool
// that lives as long as the process: making one takes longer than a small selection.
class WaitedLaunch {
public:
    WaitedLaunch() = default;
    // Returns the graph to the pool. All work that launch() has enqueued must be over, as a graph
    // runs once at a time.
    ~WaitedLaunch();
    WaitedLaunch(const WaitedLaunch&) = delete;
    WaitedLaunch& operator=(const WaitedLaunch&) = delete;

    // Call it once. Uses the grid, the block, the shared memory, the stream and the cluster
    // dimensions, if set, of the configuration; `arguments` as for cudaLaunchKernelExC. Throws
    // errors of the runtime.
    void launch(const cudaLaunchConfig_t& config, const void* kernel, void** arguments);

private:
    struct Graph;
    Graph* graph_ = nullptr;
};

}  // namespace kith::gpu
