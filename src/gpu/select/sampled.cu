// The selector "sampled": see sampled.cuh. Short rows take a block each, long rows are cut into slices.
#include "gpu/select/sampled.h"

namespace kith::gpu {

void sampled(const SelectJob& job, int) {
    const SelectOut out = out_of(job, SelectLayout::by_row);
    if (sampling::is_short(job.rows, job.n, job.k)) sampling::select_short(job, out);
    else sampling::select_long(job, out);
}

}  // namespace kith::gpu
