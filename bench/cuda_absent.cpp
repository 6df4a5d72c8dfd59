// A build without the GPU backend: no device memory, no limits of a GPU.
#include "device_memory.h"
#include "kith/error.h"
#include "machine_limits.h"
#include "search/data.h"
#include "search/pinned_copy.h"

namespace kith::bench {

namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorCode::device, "device: this build has no GPU backend");
}

}  // namespace

std::shared_ptr<void> device_array(int, std::size_t) {
    refuse();
}

void fill_on_device(int, void*, ElementType, std::int64_t, std::int64_t, const Recipe&) {
    refuse();
}

double pinned_copy_seconds(int, std::size_t) {
    refuse();
}

Limits cuda_limits(int) {
    refuse();
}

}  // namespace kith::bench
