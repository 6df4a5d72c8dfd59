// The selector "sampled": see sampled.cuh. Short rows take a block each, long rows are cut into
// slices.
#include "gpu/select/sampled/sampled.h"

#include "gpu/runtime/device.h"

namespace kith::gpu {

void sampled(const SelectJob& job, int) {
    const SelectOut out = out_of(job, SelectLayout::by_row);
    // The last sort's shared memory: devices with less than 128 KiB a block take the longest k by
    // another way.
    const auto needed = static_cast<std::int64_t>(sampling::sorted_size(job.k) * sizeof(Packed));
    if (needed > 48 * 1024 && needed > device_attributes().shared_bytes)
        return radix_select(job, 0);
    if (sampling::is_short(job.rows, job.n, job.k, device_attributes().multiprocessors))
        sampling::select_short(job, out);
    else sampling::select_long(job, out);
}

}  // namespace kith::gpu
