// The selector "threshold": the streaming selection of the search (threshold.cuh) on whole rows.
#include "gpu/primitives/gather.h"
#include "gpu/primitives/sort_rows.h"
#include "gpu/select/selector.h"
#include "gpu/select/streaming/threshold_select.h"

namespace kith::gpu {

void threshold(const SelectJob& job, int) {
    const bool f64 = job.type == ElementType::f64;
    const cudaStream_t stream = job.stream;
    SelectState state(job.rows, job.k, job.n, f64 ? 8 : 4, stream);
    if (f64)
        scan_f64(state, static_cast<const double*>(job.values), job.stride, job.n, job.largest,
                 stream);
    else scan_f32(state, job.f32(), job.stride, job.n, job.largest, stream);
    finish(state, stream);
    const std::int64_t cells = job.rows * job.k, entries = job.rows * state.stride();
    Buffer<std::uint64_t> wide(f64 ? 0 : entries, stream);
    if (!f64)
        widen(reinterpret_cast<const std::uint32_t*>(state.keys.get()), wide.get(), entries,
              stream);
    Buffer<std::uint64_t> keys(cells, stream);
    Buffer<std::uint32_t> ids(cells, stream);
    sort_rows({f64 ? reinterpret_cast<const std::uint64_t*>(state.keys.get()) : wide.get(),
               state.ids.get(), state.counts.get(), state.slices, job.rows, state.stride(), job.k},
              {keys.get(), ids.get(), job.k}, stream);
    const Rows rows{job.values, job.rows, job.stride, 1, job.type};
    take_values(rows, ids.get(), job.rows, job.k, job.ids, job.out, stream);
}

}  // namespace kith::gpu
