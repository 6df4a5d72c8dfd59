// Arrays in device memory for the GPU tests, freed with their owner.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "arrays.h"
#include "kith/types.h"

namespace gpu_arrays {

inline void check(cudaError_t status) {
    ASSERT_EQ(cudaSuccess, status) << cudaGetErrorString(status);
}

// Device memory of count elements, each byte 0xa5.
template <class T>
class Buffer {
public:
    explicit Buffer(std::size_t count) : count_(count) {
        check(cudaMalloc(&data_, count * sizeof(T)));
        check(cudaMemset(data_, 0xa5, count * sizeof(T)));
        check(cudaDeviceSynchronize());
    }
    ~Buffer() { cudaFree(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    T* data() const { return static_cast<T*>(data_); }
    std::vector<T> host() const {
        std::vector<T> out(count_);
        check(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }

private:
    std::size_t count_;
    void* data_ = nullptr;
};

// A copy of an array, gaps and all, on the current device.
struct DeviceArray {
    std::unique_ptr<Buffer<std::byte>> bytes;
    kith::MatrixView view;
};

inline DeviceArray on_device(const arrays::Array& array) {
    DeviceArray out{std::make_unique<Buffer<std::byte>>(array.bytes.size()), array.view};
    check(cudaMemcpy(out.bytes->data(), array.bytes.data(), array.bytes.size(), cudaMemcpyHostToDevice));
    const auto before = static_cast<const std::byte*>(array.view.data) - array.bytes.data();
    out.view.data = out.bytes->data() + before;
    check(cudaGetDevice(&out.view.device));
    return out;
}

class Stream {
public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace gpu_arrays
