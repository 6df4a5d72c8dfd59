// Launches of threshold selection; see threshold_select.h and threshold.cuh.
#include "gpu/select/streaming/threshold_select.h"

#include <algorithm>

#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/select/streaming/threshold.cuh"
#include "gpu/select/streaming/tuning.h"

namespace kith::gpu {

namespace {

template <class Key>
SelectBuffers<Key> buffers_of(SelectState& s) {
    return {reinterpret_cast<Key*>(s.keys.get()),
            s.ids.get(),
            reinterpret_cast<Key*>(s.threshold_key.get()),
            s.threshold_id.get(),
            s.counts.get(),
            s.capacity,
            s.slices};
}

template <class Policy>
void launch(SelectState& s, const typename Policy::Value* tile, std::int64_t ld, std::int64_t cols,
            const Policy& policy, cudaStream_t stream) {
    scan_rows<Policy><<<static_cast<unsigned>(s.rows * s.slices), select_threads, 0, stream>>>(
        tile, ld, cols, s.k, policy, buffers_of<typename Policy::Key>(s));
    check_launch("scan_rows");
}

__global__ void widen_keys(const std::uint32_t* keys, std::uint64_t* out, std::int64_t count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = keys[i];
}

}  // namespace

SelectState::SelectState(std::int64_t rows_, std::int64_t k_, std::int64_t cols, int key_bytes_,
                         cudaStream_t stream)
    : rows(rows_),
      k(k_),
      capacity(static_cast<std::int32_t>(tuning::candidate_capacity(k_))),
      slices(static_cast<std::int32_t>(
          tuning::select_slices(rows_, k_, cols, device_attributes().multiprocessors))),
      key_bytes(key_bytes_) {
    const std::int64_t slots = rows * slices;
    keys = Buffer<char>(slots * capacity * key_bytes, stream);
    ids = Buffer<std::uint32_t>(slots * capacity, stream);
    threshold_key = Buffer<char>(slots * key_bytes, stream);
    threshold_id = Buffer<std::uint32_t>(slots, stream);
    counts = Buffer<std::int32_t>(slots, stream);
    // The largest (key, id): everything passes.
    threshold_key.clear_to(0xff);
    threshold_id.clear_to(0xff);
    counts.clear_to(0);
}

void scan_keys(SelectState& s, const std::uint64_t* tile, std::int64_t ld, std::int64_t cols,
               std::int64_t first_id, cudaStream_t stream) {
    launch(s, tile, ld, cols, KeyPolicy<std::uint64_t, std::uint64_t>{false, first_id}, stream);
}
void scan_f32(SelectState& s, const float* tile, std::int64_t ld, std::int64_t cols, bool largest,
              cudaStream_t stream) {
    launch(s, tile, ld, cols, KeyPolicy<float, std::uint32_t>{largest, 0}, stream);
}
void scan_f64(SelectState& s, const double* tile, std::int64_t ld, std::int64_t cols, bool largest,
              cudaStream_t stream) {
    launch(s, tile, ld, cols, KeyPolicy<double, std::uint64_t>{largest, 0}, stream);
}
void finish(SelectState& s, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(s.rows);
    if (s.key_bytes == 4)
        finish_rows<KeyPolicy<float, std::uint32_t>>
            <<<rows, select_threads, 0, stream>>>(s.k, buffers_of<std::uint32_t>(s));
    else
        finish_rows<KeyPolicy<std::uint64_t, std::uint64_t>>
            <<<rows, select_threads, 0, stream>>>(s.k, buffers_of<std::uint64_t>(s));
    check_launch("finish_rows");
}

void widen(const std::uint32_t* keys, std::uint64_t* out, std::int64_t count, cudaStream_t stream) {
    widen_keys<<<item_blocks(count), item_threads, 0, stream>>>(keys, out, count);
    check_launch("widen_keys");
}

}  // namespace kith::gpu
