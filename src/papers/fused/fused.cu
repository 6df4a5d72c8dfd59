// Fused kernels by name, and the lists of parts that their blocks leave, merged.
#include "papers/fused/fused.h"

#include <string>

#include "gpu/runtime/device.h"
#include "kith/error.h"
#include "papers/select/truncated/truncated_lists.h"

namespace kith::gpu {

namespace {

using Function = void (*)(const FusedJob&);

// In the order of `fused_kernels`.
constexpr Function functions[] = {
#define KITH_FUSED(function, ...) function,
#include "papers/fused/fused_kernels.def"
#undef KITH_FUSED
};

}  // namespace

Buffer<Packed> fused_lists(std::string_view kernel, FusedJob job, std::int64_t most_lists) {
    const FusedKernel* const found = find_fused_kernel(kernel);
    if (!found)
        throw Error(ErrorCode::invalid_argument,
                    "fused: '" + std::string(kernel) + "' is not in the list");
    job.parts = fused_parts(*found, job.q, job.n, device_attributes().multiprocessors, most_lists);
    Buffer<Packed> lists(job.q * job.parts.count * job.listed, job.stream);
    job.lists = lists.get();
    functions[found - fused_kernels.data()](job);
    Buffer<Packed> other(job.q * merged_lists(job.parts.count) * job.listed, job.stream);
    const bool same = merge_lists(lists.get(), other.get(), job.q, job.parts.count, job.listed,
                                  nullptr, job.stream) == lists.get();
    return same ? std::move(lists) : std::move(other);
}

}  // namespace kith::gpu
