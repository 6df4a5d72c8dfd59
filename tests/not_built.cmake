# The stand-in for the GPU tests in a build without CUDA: says so, and ctest counts it as skipped.
message("GPU tests: not built, there is no nvcc (or KITH_CUDA is OFF)")
