// A build without the GPU backend: no values on a device.
#include "kith/error.h"
#include "select/device.h"

namespace kith::bench {

namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorCode::device, "device: this build has no GPU backend");
}

}  // namespace

void fill(int, float*, std::int64_t, std::int64_t, Order, bool) {
    refuse();
}

double read_seconds(int, const float*, std::int64_t) {
    refuse();
}

double copy_seconds(int, const float*, std::int64_t, float*) {
    refuse();
}

}  // namespace kith::bench
