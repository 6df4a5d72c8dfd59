// Kernels of bytes.h; those that round give a warp, or a group of its lanes, to a row.
#include "gpu/filter/bytes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu/filter/augmented.h"
#include "gpu/filter/byte_row.cuh"
#include "gpu/filter/cells.h"
#include "gpu/filter/coarse_threshold.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Of each warp of a block, what rounding its row takes.
__device__ double* shared_of_warp(const Directions& directions) {
    extern __shared__ double shared[];
    return shared + threadIdx.x / 32 * byte_row_doubles(directions);
}
std::size_t shared_bytes(const Directions& directions) {
    return static_cast<std::size_t>(item_warps * byte_row_doubles(directions)) * sizeof(double);
}

template <int lanes>
__global__ void points_kernel(Directions directions, const __half* vectors, Along along,
                              const float* half_norm, std::int64_t first, std::int64_t count,
                              std::int64_t n, std::int8_t* out, int* out_half_norm) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) /
                           lanes,
                       at = first + i;
    if (i >= count) return;
    const std::int64_t width = 2 * directions.form.width;
    const float h = half_norm[at];
    const int lane = threadIdx.x % lanes;
    if (at >= n || !(fabsf(h) < __int_as_float(0x7f800000))) {
        for (std::int64_t c = lane * 4; at < n && c < width; c += 4 * lanes)
            *reinterpret_cast<char4*>(out + at * width + c) = char4{};
        if (lane == 0) out_half_norm[at] = h < 0 ? ByteLimits::always : ByteLimits::excluded;
        return;
    }
    const ByteForm& bytes = directions.bytes;
    const ByteRow row =
        round_to_bytes<false, lanes>(directions, vectors + at * directions.depth, along, i,
                                     shared_of_warp(directions), out + at * width);
    if (lane != 0) return;
    const double lowest = row.least(bytes, static_cast<double>(h)) / (bytes.step * bytes.step) - 1;
    // Not a number, too: then all look at it.
    out_half_norm[at] = lowest >= ByteLimits::finite   ? static_cast<int>(ByteLimits::finite)
                        : lowest > -ByteLimits::finite ? static_cast<int>(floor(lowest))
                                                       : ByteLimits::always;
}

__global__ void queries_kernel(Directions directions, const __half* vectors, Along along,
                               std::int64_t first, std::int64_t count, std::int8_t* out,
                               float* error) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32,
                       at = first + i;
    if (i >= count) return;
    const ByteRow row =
        round_to_bytes<true>(directions, vectors + at * directions.depth, along, i,
                             shared_of_warp(directions), out + at * 2 * directions.form.width);
    if (threadIdx.x % 32 == 0) error[at] = row.error(directions.bytes);
}

__global__ void fill_kernel(int* out, std::int64_t count, int value) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = value;
}

__global__ void thresholds_kernel(const float* threshold, const float* error,
                                  const std::uint8_t* overflowed, std::int64_t q, double unit,
                                  int* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q) return;
    out[i] = overflowed && overflowed[i] ? ByteLimits::never
                                         : coarse_threshold(threshold[i], error[i], unit);
}

// Numbers of which all but the last times 127 and that one make x, within ByteTerms::reach().
template <int words>
__device__ __forceinline__ void write_digits(int x, std::uint32_t (&out)[words]) {
    int high = (abs(x) + 63) / 127;
    const int low = abs(x) - 127 * high, sign = x < 0 ? -1 : 1;
    auto* const digits = reinterpret_cast<signed char*>(out);
#pragma unroll
    for (int i = 0; i < 4 * words - 1; ++i) {
        const int digit = min(high, 127);
        high -= digit;
        digits[i] = static_cast<signed char>(sign * digit);
    }
    digits[4 * words - 1] = static_cast<signed char>(sign * low);
}
// What the other side multiplies them by.
template <int words>
__device__ __forceinline__ void write_weights(std::uint32_t (&out)[words]) {
#pragma unroll
    for (int i = 0; i < words; ++i) out[i] = i + 1 < words ? 0x7f7f7f7fu : 0x017f7f7fu;
}

// A row's terms: of points the digits come first, of queries what multiplies those.
template <int planes>
__device__ __forceinline__ void write_terms(int x, bool query, std::int64_t row, std::int64_t rows,
                                            uint4* terms) {
    std::uint32_t digits[2 * planes], weights[2 * planes], all[4 * planes];
    write_digits(x, digits);
    write_weights(weights);
#pragma unroll
    for (int i = 0; i < 2 * planes; ++i) {
        all[i] = query ? weights[i] : digits[i];
        all[2 * planes + i] = query ? digits[i] : weights[i];
    }
#pragma unroll
    for (int plane = 0; plane < planes; ++plane)
        terms[plane * rows + row] = {all[4 * plane], all[4 * plane + 1], all[4 * plane + 2],
                                     all[4 * plane + 3]};
}

// Half norms that are not `excluded`: the least, how many are `always` and how many are more than
// `highest`.
struct HalfNorms {
    int least = ByteLimits::excluded;
    unsigned long long always = 0, beyond = 0;
};
__global__ void half_norms_kernel(const int* half_norm, std::int64_t n, int highest,
                                  HalfNorms* out) {
    int least = ByteLimits::excluded;
    unsigned beyond = 0, always = 0;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
         i += step) {
        const int h = half_norm[i];
        if (h >= ByteLimits::excluded) continue;
        always += h <= ByteLimits::always;
        beyond += h > highest;
        least = min(least, h);
    }
    least = __reduce_min_sync(0xffffffffu, least);
    always = __reduce_add_sync(0xffffffffu, always);
    beyond = __reduce_add_sync(0xffffffffu, beyond);
    if (threadIdx.x % 32 != 0) return;
    atomicMin(&out->least, least);
    if (always > 0) atomicAdd(&out->always, static_cast<unsigned long long>(always));
    if (beyond > 0) atomicAdd(&out->beyond, static_cast<unsigned long long>(beyond));
}

HalfNorms half_norms(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream) {
    HalfNorms out;
    const Buffer<HalfNorms> on_device(1, stream);
    InFlight work(stream);
    check(cudaMemcpyAsync(on_device.get(), &out, sizeof(out), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    const unsigned blocks = std::min<unsigned>(item_blocks(n), 1024);
    half_norms_kernel<<<blocks, item_threads, 0, stream>>>(half_norm, n, highest, on_device.get());
    check_launch("half_norms");
    check(cudaMemcpyAsync(&out, on_device.get(), sizeof(out), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    work.wait("half norms");
    return out;
}

// A sum is -products + h - (T + 1), all less the base; h is at least -reach + 1, so that T + 1 at
// its least passes nothing of a row of zeros, and T + 1 at most reach, that of an excluded point.
template <int planes>
__global__ void point_terms_kernel(const int* half_norm, std::int64_t count, ByteTerms form,
                                   uint4* terms) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const std::int64_t h = static_cast<std::int64_t>(half_norm[i]) - form.base,
                       reach = form.reach();
    write_terms<planes>(static_cast<int>(min(max(h, 1 - reach), reach)), false, i, count, terms);
}

template <int planes>
__global__ void query_terms_kernel(const int* threshold, std::int64_t q, std::int64_t rows,
                                   ByteTerms form, std::int32_t full, std::int32_t* counts,
                                   uint4* terms) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x,
                       reach = form.reach();
    if (i >= rows) return;
    std::int64_t next = -reach;
    if (i < q) {
        const std::int64_t wanted = static_cast<std::int64_t>(threshold[i]) - form.base + 1;
        const bool beyond = wanted > reach;
        counts[i] = beyond ? full : 0;
        if (!beyond) next = max(wanted, next);
    }
    write_terms<planes>(static_cast<int>(-next), true, i, rows, terms);
}

template <int planes>
__global__ void gather_terms_kernel(const uint4* terms, std::int64_t plane, ByteTerms form,
                                    const std::uint32_t* query, std::int64_t count, uint4* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t own = query[i];
    if (own == no_query) {
        write_terms<planes>(form.reach(), true, i, count, out);
        return;
    }
#pragma unroll
    for (int p = 0; p < planes; ++p) out[p * count + i] = terms[p * plane + own];
}

}  // namespace

void round_points(const Directions& directions, const __half* vectors, const Along& along,
                  const float* half_norm, std::int64_t first, std::int64_t count, std::int64_t n,
                  std::int8_t* out, int* out_half_norm, cudaStream_t stream) {
    const auto launch = [&](auto kernel, int lanes) {
        kernel<<<blocks_for(count, item_threads / lanes), item_threads, shared_bytes(directions),
                 stream>>>(directions, vectors, along, half_norm, first, count, n, out,
                           out_half_norm);
    };
    // Of coordinates alone few lanes do: 1,048,576 rows of 128 took 1.2 ms by 32 lanes each and
    // take 0.4 by eight (an NVIDIA H100, 2026-11-28).
    if (along.coordinates || directions.bytes.leading.count > 0) launch(points_kernel<32>, 32);
    else launch(points_kernel<8>, 8);
    check_launch("round_points");
}

void round_queries(const Directions& directions, const __half* vectors, const Along& along,
                   std::int64_t first, std::int64_t count, std::int8_t* out, float* error,
                   cudaStream_t stream) {
    queries_kernel<<<blocks_for(count, item_warps), item_threads, shared_bytes(directions),
                     stream>>>(directions, vectors, along, first, count, out, error);
    check_launch("round_queries");
}

void fill_excluded(float* half_norm, std::int64_t count, cudaStream_t stream) {
    if (count == 0) return;
    fill_kernel<<<item_blocks(count), item_threads, 0, stream>>>(reinterpret_cast<int*>(half_norm),
                                                                 count, ByteLimits::excluded);
    check_launch("fill_excluded");
}

void byte_thresholds(const float* threshold, const float* error, const std::uint8_t* overflowed,
                     std::int64_t q, double step, int* out, cudaStream_t stream) {
    thresholds_kernel<<<item_blocks(q), item_threads, 0, stream>>>(threshold, error, overflowed, q,
                                                                   step * step, out);
    check_launch("byte_thresholds");
}

ByteRange byte_range(const int* half_norm, std::int64_t n, std::int64_t one_beyond,
                     cudaStream_t stream) {
    constexpr std::int64_t most_sampled = 1 << 16;
    const HalfNorms all = half_norms(half_norm, n, 0, stream);
    ByteRange out{.least = all.least,
                  .most = ByteLimits::always,
                  .always = static_cast<std::int64_t>(all.always)};
    std::vector<int> sample(static_cast<std::size_t>(std::min(n, most_sampled)));
    InFlight copy(stream);
    check(cudaMemcpyAsync(sample.data(), half_norm, sample.size() * sizeof(int), cudaMemcpyDefault,
                          stream),
          "cudaMemcpy");
    copy.wait("half norms");
    std::erase_if(sample, [](int h) { return h >= ByteLimits::excluded; });
    if (sample.empty()) return out;
    const auto most = sample.begin() + std::ssize(sample) / one_beyond;
    // Few of many: faster than nth_element().
    std::ranges::partial_sort(sample, most + 1, std::greater{});
    out.most = *most;
    return out;
}

std::int64_t count_beyond(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream) {
    return static_cast<std::int64_t>(half_norms(half_norm, n, highest, stream).beyond);
}

void augment_byte_points(const int* half_norm, std::int64_t count, ByteTerms form, void* terms,
                         cudaStream_t stream) {
    const auto kernel = form.planes == 1   ? point_terms_kernel<1>
                        : form.planes == 2 ? point_terms_kernel<2>
                                           : point_terms_kernel<wide_planes>;
    kernel<<<item_blocks(count), item_threads, 0, stream>>>(half_norm, count, form,
                                                            static_cast<uint4*>(terms));
    check_launch("augment_byte_points");
}

void augment_byte_queries(const int* threshold, std::int64_t q, ByteTerms form, std::int32_t full,
                          std::int32_t* counts, void* terms, cudaStream_t stream) {
    const std::int64_t rows = augmented_query_rows(q);
    const auto kernel = form.planes == 1   ? query_terms_kernel<1>
                        : form.planes == 2 ? query_terms_kernel<2>
                                           : query_terms_kernel<wide_planes>;
    kernel<<<item_blocks(rows), item_threads, 0, stream>>>(threshold, q, rows, form, full, counts,
                                                           static_cast<uint4*>(terms));
    check_launch("augment_byte_queries");
}

void gather_byte_terms(const void* terms, std::int64_t plane, ByteTerms form,
                       const std::uint32_t* query, std::int64_t count, void* out,
                       cudaStream_t stream) {
    const auto kernel = form.planes == 1   ? gather_terms_kernel<1>
                        : form.planes == 2 ? gather_terms_kernel<2>
                                           : gather_terms_kernel<wide_planes>;
    kernel<<<item_blocks(count), item_threads, 0, stream>>>(static_cast<const uint4*>(terms),
                                                            plane / byte_terms, form, query, count,
                                                            static_cast<uint4*>(out));
    check_launch("gather_byte_terms");
}

void use_byte_terms(ByteTerms form, const void* query_terms, const void* point_terms,
                    FilterPass& pass) {
    pass.query_terms = query_terms;
    pass.point_terms = point_terms;
    pass.term_planes = form.planes;
    pass.query_plane = augmented_query_rows(pass.q) * byte_terms;
    pass.point_plane = whole_tiles(pass.n) * byte_terms;
}

}  // namespace kith::gpu
