// The most that this machine can do, measured: the scale that the timings are read on.
#pragma once

#include <string>

namespace kith::bench {

struct Limits {
    double multiply_adds = 0;         // f32 multiply-adds a second
    double bytes = 0;                 // bytes read from memory a second
    std::string how = {};             // by what they were measured
    double tensor_multiply_adds = 0;  // bf16 multiply-adds a second on tensor cores; 0: none measured
};

// Fused multiply-adds in registers and reads of a large array, on `threads` threads.
Limits cpu_limits(int threads);

// cuBLAS' matrix products of f32 without TF32 and of bf16, and a copy within the device, counted as read and written.
// Throws where there is no such device.
Limits cuda_limits(int device);

}  // namespace kith::bench
