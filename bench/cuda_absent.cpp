// A build without the GPU backend: no device memory, no limits of a GPU.
#include "device_memory.h"
#include "kith/error.h"
#include "machine_limits.h"

namespace kith::bench {

namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorCode::device, "device: this build has no GPU backend");
}

}  // namespace

std::shared_ptr<void> device_array(int, std::size_t) {
    refuse();
}

void copy_to_device(void*, const void*, std::size_t) {
    refuse();
}

Limits cuda_limits(int) {
    refuse();
}

}  // namespace kith::bench
