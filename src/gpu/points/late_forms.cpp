// See late_forms.h.
#include "gpu/points/late_forms.h"

#include <mutex>

#include "gpu/points/pca/projection.h"
#include "gpu/points/points.h"
#include "gpu/points/repeats.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/tree/tree.h"

namespace kith::gpu {

namespace {

template <class Forms, class Take>
void for_each(Forms& forms, const Take& take) {
    take(forms.one_term);
    take(forms.two_terms);
    take(forms.direct_coarse);
    take(forms.direct);
    take(forms.tree);
    take(forms.repeats);
    for (auto& each : forms.wider) take(each);
}

}  // namespace

std::int64_t LateForms::bytes() const {
    std::int64_t sum = 0;
    for_each(*this, [&](const auto& slot) { sum += slot.bytes(); });
    return sum;
}

void LateForms::forget() {
    const std::unique_lock alone(in_use, std::try_to_lock);
    if (alone) for_each(*this, [](auto& slot) { slot.forget(); });
}

std::int64_t late_bytes(const Points& points) {
    return points.resident.late->bytes();
}

void forget_late(const Points& points) {
    if (late_bytes(points) == 0) return;
    const DeviceScope scope(points.device);
    CallMemory call(points.device, nullptr);
    points.resident.late->forget();
    call.wait("releasing forms of the points");
}

}  // namespace kith::gpu
