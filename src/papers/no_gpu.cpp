// Stands in for the component's GPU half in a build without CUDA: there is no device.
#include "gpu/backend.h"
#include "kith/error.h"
#include "papers/kato/triangle.h"
#include "papers/plan.h"

namespace kith {

std::string papers::products_absence() {
    return gpu::absence();
}

void gpu::triangle_part(const Points&, const TrianglePart&, const PartHeaps&) {
    throw Error(ErrorCode::device, "device: " + absence());
}

}  // namespace kith
