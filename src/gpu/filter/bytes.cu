// Rounding rows to whole numbers of 8 bits, with the terms of the bound; a warp owns a row, a lane four numbers.
#include "gpu/filter/bytes.h"

#include <algorithm>
#include <cmath>

#include "gpu/filter/augmented.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/coarse_threshold.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// What the bound's own arithmetic in binary64 rounds, relatively.
constexpr double arithmetic_slack = 1 + 0x1p-20;

struct ByteRow {
    double norm = 0;      // of what is rounded, phi(v) less the shift,
    double stepped = 0;   // and of the numbers times the step
    double noise = 0;     // of what rounding left of it within the range of a byte, with the error of phi,
    double clipped2 = 0;  // and beyond, the square of that
    double ends = 0;      // and the sum of its sizes times the largest number
    double left2 = 0;     // the square of what the directions leave
    double cross = 0;     // the product with the shift
    double rounding = 0;  // what binary64 may round of the latter, and of other terms of that size

    // What a point and a query have in common of F and E; `size`: of what is multiplied.
    __device__ double bound(double kappa, double size) const {
        return 0.5 * (noise * noise / kappa + kappa * size * size + left2) + ends + rounding;
    }
};

// Of queries the numbers are negated, which -128 cannot be.
template <bool query>
__device__ ByteRow round_row(const Directions& directions, const __half* vector, const double* along,
                             std::int8_t* out) {
    const ByteForm& bytes = directions.bytes;
    const int lane = threadIdx.x % 32;
    double norm2 = 0, phi2 = 0, own2 = 0, stepped2 = 0, noise2 = 0, clipped2 = 0, clipped = 0, cross = 0;
    if (along) {
        for (std::int64_t j = lane; j < directions.depth; j += 32) {
            const auto x = static_cast<double>(__half2float(vector[j]));
            norm2 += x * x;
        }
    }
    const double inverse = 1 / bytes.step;
    for (std::int64_t first = lane * 4; first < 2 * directions.form.width; first += 128) {
        char4 four{};
        signed char* const rounded = &four.x;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::int64_t c = first + i;
            if (c >= directions.columns) continue;
            const double x = along ? along[c] : static_cast<double>(__half2float(vector[c])), shift = bytes.shift[c],
                         y = x - shift, nearest = rint(y * inverse),
                         b = fmin(fmax(nearest, query ? -127.0 : -128.0), 127.0), rest = fabs(y - b * bytes.step);
            rounded[i] = static_cast<signed char>(static_cast<int>(query ? -b : b));
            phi2 += x * x;
            own2 += y * y;
            stepped2 += b * bytes.step * (b * bytes.step);
            cross += y * shift;
            if (b == nearest) {
                noise2 += rest * rest;
            } else {
                clipped2 += rest * rest;
                clipped += rest;
            }
        }
        *reinterpret_cast<char4*>(out + first) = four;
    }
    phi2 = warp_sum(phi2);
    if (along) norm2 = warp_sum(norm2);
    else norm2 = phi2;
    const double norm = sqrt(norm2), error = along ? directions.error.coordinates * norm : 0.0;
    ByteRow row;
    row.norm = sqrt(warp_sum(own2)) + error;
    row.stepped = sqrt(warp_sum(stepped2));
    row.noise = sqrt(warp_sum(noise2)) + error;
    row.clipped2 = warp_sum(clipped2);
    row.ends = 128 * bytes.step * warp_sum(clipped);
    row.left2 = along ? fmax(0.0, norm2 - phi2) + directions.error.square * norm2 : 0.0;
    row.cross = warp_sum(cross);
    const double size = norm + bytes.shift_norm;
    row.rounding = (canonical_slack + directions.error.coordinates) * size * size;
    return row;
}

__global__ void points_kernel(Directions directions, const __half* vectors, const double* along, const float* half_norm,
                              std::int64_t first, std::int64_t count, std::int64_t n, std::int8_t* out,
                              int* out_half_norm) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32, at = first + i;
    if (i >= count) return;
    const std::int64_t width = 2 * directions.form.width;
    const float h = half_norm[at];
    if (at >= n || !(fabsf(h) < __int_as_float(0x7f800000))) {
        for (std::int64_t c = threadIdx.x % 32 * 4; at < n && c < width; c += 128)
            *reinterpret_cast<char4*>(out + at * width + c) = char4{};
        if (threadIdx.x % 32 == 0) out_half_norm[at] = h < 0 ? ByteLimits::always : ByteLimits::excluded;
        return;
    }
    const ByteForm& bytes = directions.bytes;
    const ByteRow row = round_row<false>(directions, vectors + at * directions.depth,
                                         along ? along + i * directions.stride : nullptr, out + at * width);
    if (threadIdx.x % 32 != 0) return;
    const double bound = row.bound(bytes.kappa, row.stepped) + 0.5 * row.clipped2;
    const double lowest =
        (static_cast<double>(h) - row.cross - arithmetic_slack * bound) / (bytes.step * bytes.step) - 1;
    // Not a number, too: then all look at it.
    out_half_norm[at] = lowest >= ByteLimits::finite   ? static_cast<int>(ByteLimits::finite)
                        : lowest > -ByteLimits::finite ? static_cast<int>(floor(lowest))
                                                       : ByteLimits::always;
}

__global__ void queries_kernel(Directions directions, const __half* vectors, const double* along, std::int64_t first,
                               std::int64_t count, std::int8_t* out, float* error) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32, at = first + i;
    if (i >= count) return;
    const ByteForm& bytes = directions.bytes;
    const ByteRow row =
        round_row<true>(directions, vectors + at * directions.depth, along ? along + i * directions.stride : nullptr,
                        out + at * 2 * directions.form.width);
    if (threadIdx.x % 32 != 0) return;
    const double bound = row.bound(bytes.kappa, row.norm) + 0.5 * (row.noise * row.noise + row.clipped2);
    const double all = row.cross + bytes.shift_norm * bytes.shift_norm + arithmetic_slack * bound;
    error[at] = isfinite(all) ? __double2float_ru(all) : __int_as_float(0x7f800000);
}

__global__ void fill_kernel(int* out, std::int64_t count, int value) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = value;
}

__global__ void thresholds_kernel(const float* threshold, const float* error, const std::uint8_t* overflowed,
                                  std::int64_t q, double unit, int* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q) return;
    out[i] = overflowed && overflowed[i] ? ByteLimits::never : coarse_threshold(threshold[i], error[i], unit);
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
__device__ __forceinline__ void write_terms(int x, bool query, std::int64_t row, std::int64_t rows, uint4* terms) {
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
        terms[plane * rows + row] = {all[4 * plane], all[4 * plane + 1], all[4 * plane + 2], all[4 * plane + 3]};
}

__global__ void range_kernel(const int* half_norm, std::int64_t n, std::int64_t highest, bool from_least, bool counts,
                             ByteRange* out) {
    int least = ByteLimits::excluded, most = ByteLimits::always;
    unsigned beyond = 0, always = 0;
    if (from_least) highest += out->least;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const int h = half_norm[i];
        if (h >= ByteLimits::excluded) continue;
        always += h <= ByteLimits::always;
        if (counts) beyond += h > highest;
        least = min(least, h);
        most = max(most, h);
    }
    using Count = unsigned long long;
    if (counts) {
        atomicAdd(reinterpret_cast<Count*>(&out->beyond), static_cast<Count>(beyond));
        atomicAdd(reinterpret_cast<Count*>(&out->always), static_cast<Count>(always));
    } else {
        atomicMin(&out->least, least);
        atomicMax(&out->most, most);
    }
}

// A sum is -products + h - (T + 1), all less the base; h is at least -reach + 1, so that T + 1 at its least passes
// nothing of a row of zeros, and T + 1 at most reach, that of an excluded point.
template <int planes>
__global__ void point_terms_kernel(const int* half_norm, std::int64_t count, ByteTerms form, uint4* terms) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const std::int64_t h = static_cast<std::int64_t>(half_norm[i]) - form.base, reach = form.reach();
    write_terms<planes>(static_cast<int>(min(max(h, 1 - reach), reach)), false, i, count, terms);
}

template <int planes>
__global__ void query_terms_kernel(const int* threshold, std::int64_t q, std::int64_t rows, ByteTerms form,
                                   std::int32_t full, std::int32_t* counts, uint4* terms) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x, reach = form.reach();
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

}  // namespace

void round_points(const Directions& directions, const __half* vectors, const double* along, const float* half_norm,
                  std::int64_t first, std::int64_t count, std::int64_t n, std::int8_t* out, int* out_half_norm,
                  cudaStream_t stream) {
    points_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(directions, vectors, along, half_norm,
                                                                              first, count, n, out, out_half_norm);
    check_launch("round_points");
}

void round_queries(const Directions& directions, const __half* vectors, const double* along, std::int64_t first,
                   std::int64_t count, std::int8_t* out, float* error, cudaStream_t stream) {
    queries_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(directions, vectors, along, first, count,
                                                                               out, error);
    check_launch("round_queries");
}

void fill_excluded(float* half_norm, std::int64_t count, cudaStream_t stream) {
    if (count == 0) return;
    fill_kernel<<<item_blocks(count), item_threads, 0, stream>>>(reinterpret_cast<int*>(half_norm), count,
                                                                 ByteLimits::excluded);
    check_launch("fill_excluded");
}

void byte_thresholds(const float* threshold, const float* error, const std::uint8_t* overflowed, std::int64_t q,
                     double step, int* out, cudaStream_t stream) {
    thresholds_kernel<<<item_blocks(q), item_threads, 0, stream>>>(threshold, error, overflowed, q, step * step, out);
    check_launch("byte_thresholds");
}

ByteRange byte_range(const int* half_norm, std::int64_t n, int highest, bool from_least, cudaStream_t stream) {
    ByteRange start{.least = ByteLimits::excluded, .most = ByteLimits::always};
    const Buffer<ByteRange> range(1, stream);
    InFlight work(stream);
    check(cudaMemcpyAsync(range.get(), &start, sizeof(start), cudaMemcpyDefault, stream), "cudaMemcpy");
    const unsigned blocks = std::min<unsigned>(item_blocks(n), 1024);
    range_kernel<<<blocks, item_threads, 0, stream>>>(half_norm, n, highest, from_least, false, range.get());
    range_kernel<<<blocks, item_threads, 0, stream>>>(half_norm, n, highest, from_least, true, range.get());
    check_launch("byte_range");
    ByteRange out;
    check(cudaMemcpyAsync(&out, range.get(), sizeof(out), cudaMemcpyDefault, stream), "cudaMemcpy");
    work.wait("byte_range");
    return out;
}

void augment_byte_points(const int* half_norm, std::int64_t count, ByteTerms form, void* terms, cudaStream_t stream) {
    const auto kernel = form.planes == 1 ? point_terms_kernel<1> : point_terms_kernel<wide_planes>;
    kernel<<<item_blocks(count), item_threads, 0, stream>>>(half_norm, count, form, static_cast<uint4*>(terms));
    check_launch("augment_byte_points");
}

void augment_byte_queries(const int* threshold, std::int64_t q, ByteTerms form, std::int32_t full, std::int32_t* counts,
                          void* terms, cudaStream_t stream) {
    const std::int64_t rows = augmented_query_rows(q);
    const auto kernel = form.planes == 1 ? query_terms_kernel<1> : query_terms_kernel<wide_planes>;
    kernel<<<item_blocks(rows), item_threads, 0, stream>>>(threshold, q, rows, form, full, counts,
                                                           static_cast<uint4*>(terms));
    check_launch("augment_byte_queries");
}

void use_byte_terms(ByteTerms form, const void* query_terms, const void* point_terms, FilterPass& pass) {
    pass.query_terms = query_terms;
    pass.point_terms = point_terms;
    pass.term_planes = form.planes;
    pass.query_plane = augmented_query_rows(pass.q) * byte_terms;
    pass.point_plane = whole_tiles(pass.n) * byte_terms;
}

}  // namespace kith::gpu
