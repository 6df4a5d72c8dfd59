// CUDA's errors as kith::Error, and the seconds of runs between two events.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kith/error.h"

namespace kith::bench {

inline void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
        throw Error(error == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
                    std::string(what) + ": " + cudaGetErrorString(error));
}

// Seconds of each of some runs on the default stream, sorted.
template <class F>
std::vector<double> event_seconds(int runs, F run) {
    cudaEvent_t start = nullptr, stop = nullptr;
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&stop), "cudaEventCreate");
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
        check(cudaEventRecord(start), "cudaEventRecord");
        run();
        check(cudaEventRecord(stop), "cudaEventRecord");
        check(cudaEventSynchronize(stop), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
        seconds.push_back(1e-3 * milliseconds);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

}  // namespace kith::bench
