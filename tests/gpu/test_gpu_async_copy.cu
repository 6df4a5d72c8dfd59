// Asynchronous copies and mbarriers: a pipeline of two stages whose every stage is used many times.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "gpu/primitives/hopper/async_copy.cuh"
#include "gpu/runtime/device.h"
#include "gpu_arrays.h"

namespace {

using namespace kith::gpu;

constexpr int threads = 96, warps = threads / 32, stages = 2, rounds = 37;
constexpr int words = threads * 4;  // of a stage: 16 bytes for each thread

struct Pipeline {
    alignas(16) std::uint32_t stage[stages][words];
    std::uint64_t full[stages], empty[stages];
};

// What a thread keeps of a stage: a word that the last thread's copy brought, if it is the first, and so on.
__device__ std::uint32_t word_of(const std::uint32_t* stage, int thread) {
    return stage[(threads - 1 - thread) * 4 + 1];
}

// Every thread copies 16 bytes of each round, `bytes` of them from `in` and the rest zeros.
__global__ void cp_async_kernel(const std::uint32_t* in, std::uint32_t* out, int bytes) {
    __shared__ Pipeline p;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < stages) {
        mbarrier_init(shared_address(&p.full[thread]), threads);
        mbarrier_init(shared_address(&p.empty[thread]), warps);
    }
    __syncthreads();
    for (int round = 0; round < rounds; ++round) {
        const int stage = round % stages, parity = round / stages % 2;
        const std::uint32_t full = shared_address(&p.full[stage]), empty = shared_address(&p.empty[stage]);
        mbarrier_spin(empty, parity ^ 1);
        cp_async_16(shared_address(&p.stage[stage][thread * 4]), in + round * words + thread * 4, bytes);
        mbarrier_arrive_cp_async(full);
        mbarrier_spin(full, parity);
        out[round * threads + thread] = word_of(p.stage[stage], thread);
        __syncwarp();
        if (thread % 32 == 0) mbarrier_arrive(empty);
    }
}

// The first thread copies a stage at a time.
__global__ void bulk_copy_kernel([[maybe_unused]] const std::uint32_t* in, [[maybe_unused]] std::uint32_t* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __shared__ Pipeline p;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
        for (int stage = 0; stage < stages; ++stage) {
            mbarrier_init(shared_address(&p.full[stage]), 1);
            mbarrier_init(shared_address(&p.empty[stage]), warps);
        }
        fence_mbarrier_init();
    }
    cluster_sync();
    for (int round = 0; round < rounds; ++round) {
        const int stage = round % stages, parity = round / stages % 2;
        const std::uint32_t full = shared_address(&p.full[stage]), empty = shared_address(&p.empty[stage]);
        if (thread == 0) {
            mbarrier_wait(empty, parity ^ 1);
            mbarrier_expect_tx(full, sizeof p.stage[stage]);
            bulk_copy(shared_address(p.stage[stage]), in + round * words, sizeof p.stage[stage], full);
        }
        mbarrier_wait(full, parity);
        out[round * threads + thread] = word_of(p.stage[stage], thread);
        fence_proxy_async();
        __syncwarp();
        if (thread % 32 == 0) mbarrier_arrive(empty);
    }
    cluster_sync();
#endif
}

class GpuAsyncCopy : public testing::Test {
protected:
    GpuAsyncCopy() : values_(static_cast<std::size_t>(rounds) * words), in_(values_.size()), out_(rounds * threads) {
        std::iota(values_.begin(), values_.end(), 1u);
        gpu_arrays::check(
            cudaMemcpy(in_.data(), values_.data(), values_.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice));
    }
    // What the kernels keep of what has been copied.
    std::vector<std::uint32_t> words_of_rounds() const {
        std::vector<std::uint32_t> out;
        for (std::size_t round = 0; round < rounds; ++round)
            for (std::size_t thread = 0; thread < threads; ++thread)
                out.push_back(values_[round * words + (threads - 1 - thread) * 4 + 1]);
        return out;
    }
    std::vector<std::uint32_t> kept() const {
        gpu_arrays::check(cudaGetLastError());
        gpu_arrays::check(cudaDeviceSynchronize());
        return out_.host();
    }

    std::vector<std::uint32_t> values_;
    gpu_arrays::Buffer<std::uint32_t> in_, out_;
};

TEST_F(GpuAsyncCopy, EveryThreadItsShare) {
    cp_async_kernel<<<1, threads>>>(in_.data(), out_.data(), 16);
    EXPECT_EQ(words_of_rounds(), kept());
}

TEST_F(GpuAsyncCopy, ZerosPastTheEnd) {
    cp_async_kernel<<<1, threads>>>(in_.data(), out_.data(), 4);
    EXPECT_EQ(std::vector<std::uint32_t>(rounds * threads), kept());
    cp_async_kernel<<<1, threads>>>(in_.data(), out_.data(), 8);
    EXPECT_EQ(words_of_rounds(), kept());
}

TEST_F(GpuAsyncCopy, OneThreadForAll) {
    if (device_attributes().capability < 90) GTEST_SKIP() << "bulk copies need compute capability 9.0";
    bulk_copy_kernel<<<1, threads>>>(in_.data(), out_.data());
    EXPECT_EQ(words_of_rounds(), kept());
}

}  // namespace
