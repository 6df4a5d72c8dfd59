// The pool of pinned words, and the kernel that writes them.
#include "gpu/runtime/pinned_words.h"

#include <mutex>
#include <vector>

#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

struct PinnedPool {
    std::mutex mutex;
    std::vector<unsigned long long*> idle;
};
constinit machine::Lasting<PinnedPool> pinned_pool;

__global__ void copy_kernel(const unsigned long long* from, int count, unsigned long long* to) {
    const auto i = static_cast<int>(threadIdx.x);
    if (i < count) to[i] = from[i];
}

}  // namespace

PinnedWords::PinnedWords() : data_(nullptr) {
    PinnedPool& pool = pinned_pool.get();
    const std::lock_guard lock(pool.mutex);
    if (pool.idle.empty()) {
        constexpr int blocks = 32;
        unsigned long long* fresh = nullptr;
        check(cudaHostAlloc(reinterpret_cast<void**>(&fresh), blocks * words * sizeof *fresh,
                            cudaHostAllocPortable),
              "pinned memory");
        for (int i = 0; i < blocks; ++i) pool.idle.push_back(fresh + i * words);
    }
    data_ = pool.idle.back();
    pool.idle.pop_back();
}

PinnedWords::~PinnedWords() {
    copy_.settle();
    if (!data_) return;
    PinnedPool& pool = pinned_pool.get();
    const std::lock_guard lock(pool.mutex);
    pool.idle.push_back(data_);
}

void PinnedWords::fetch(const unsigned long long* from, int count, cudaStream_t stream) {
    copy_ = InFlight(stream);
    copy_kernel<<<1, words, 0, stream>>>(from, count, data_);
    check_launch("pinned words");
}

}  // namespace kith::gpu
