// The pool of pinned_block.h.
#include "gpu/runtime/pinned_block.h"

#include <mutex>
#include <vector>

#include "machine/lasting.h"

namespace kith::gpu {

namespace {

struct Pool {
    std::mutex mutex;
    std::vector<void*> idle;
};
constinit machine::Lasting<Pool> pool;

}  // namespace

PinnedBlock::PinnedBlock(cudaStream_t stream) {
    Pool& blocks = pool.get();
    const std::lock_guard lock(blocks.mutex);
    if (blocks.idle.empty()) {
        constexpr int fresh = 8;
        void* first = nullptr;
        check(cudaHostAlloc(&first, fresh * static_cast<std::size_t>(bytes),
                            cudaHostAllocPortable | cudaHostAllocMapped),
              "pinned memory");
        for (int i = 0; i < fresh; ++i)
            blocks.idle.push_back(static_cast<char*>(first) + i * bytes);
    }
    data_ = blocks.idle.back();
    blocks.idle.pop_back();
    writing_ = InFlight(stream);
}

PinnedBlock::~PinnedBlock() {
    writing_.settle();
    if (!data_) return;
    Pool& blocks = pool.get();
    const std::lock_guard lock(blocks.mutex);
    blocks.idle.push_back(data_);
}

}  // namespace kith::gpu
