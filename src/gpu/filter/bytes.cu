// Rounding rows to whole numbers of 8 bits, with the terms of the bound; a warp owns a row, a lane four numbers.
#include "gpu/filter/bytes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu/filter/along.cuh"
#include "gpu/filter/augmented.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/cells.h"
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
    double norm2 = 0;     // of what is rounded, y = phi(v) less the shift,
    double stepped2 = 0;  // and of the numbers times the step
    double noise2 = 0;    // of what rounding left of it within the range of a byte,
    double clipped2 = 0;  // and beyond
    double ends = 0;      // the sum of the latter's sizes times the largest number
    // Of y or the numbers times the step, and of the noise, what leading directions have: all of it, what their own
    // numbers say, and what these leave.
    double size_along2 = 0, size_rest2 = 0, noise_along2 = 0, noise_said2 = 0, noise_rest2 = 0;
    double left2 = 0;       // the square of what the directions leave and phi does not have
    double cross = 0;       // the product with the shift
    double phi_error2 = 0;  // the square of what coordinates may be away from exact ones
    double rounding = 0;    // what binary64 may round of the product with the shift, and of other terms of that size

    // What a point and a query have in common of F and E; `size2`: of what is multiplied.
    __device__ double bound(const ByteForm& bytes, double size2) const {
        const LeadingDirections& leading = bytes.leading;
        double sum = pair(across(noise2, noise_along2), bytes.kappa, across(size2, size_along2)) + left2 + clipped2;
        if (leading.count > 0)
            sum += pair(size_rest2, leading.coarse_kappa, noise_said2) +
                   pair(noise_rest2, leading.fine_kappa, size_along2);
        // phi's own error times either side, and times another.
        sum += pair(phi_error2, bytes.error_kappa, norm2) + phi_error2;
        return 0.5 * sum + ends + rounding;
    }

private:
    // Twice what the product of two lengths is at most, of which each row has one.
    __device__ static double pair(double a2, double kappa, double b2) { return a2 / kappa + kappa * b2; }
    // The square of what a vector has beside leading directions, which are orthonormal but for rounding.
    __device__ static double across(double all2, double along2) {
        return fmax(0.0, all2 - along2) + 0x1p-32 * (all2 + along2);
    }
};

// A row's coordinates in a warp's shared memory, and what leading directions have of these.
struct LeadingSums {
    double* size;  // y or the numbers times the step; the noise behind them
    std::int64_t padded;

    __device__ LeadingSums(double* shared, const Directions& directions)
        : size(shared + threadIdx.x / 32 * 2 * LeadingDirections::padded(directions.columns)),
          padded(LeadingDirections::padded(directions.columns)) {}
    static std::size_t bytes_of(const Directions& directions) {
        if (directions.bytes.leading.count == 0) return 0;
        return static_cast<std::size_t>(item_warps * 2 * LeadingDirections::padded(directions.columns)) *
               sizeof(double);
    }
    __device__ void set(std::int64_t c, double of_size, double of_noise) {
        size[c] = of_size;
        size[padded + c] = of_noise;
    }
    // Lanes 0 to 15 have those of the noise, the others those of the size.
    __device__ double of(const LeadingDirections& leading) const {
        constexpr int ahead = LeadingDirections::padding;
        const int lane = threadIdx.x % 32;
        const double *const own = lane < LeadingDirections::most ? size + padded : size,
                            *const matrix = leading.matrix + lane % LeadingDirections::most;
        double sums[ahead] = {};
        for (std::int64_t first = 0; first < padded; first += ahead)
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                sums[i] += __ldg(matrix + (first + i) * LeadingDirections::most) * own[first + i];
        double sum = 0;
#pragma unroll
        for (const double each : sums) sum += each;
        return sum;
    }
};

// Rows of directions.form.width pairs of numbers: those of phi, then, where there are leading directions, of points the
// fine numbers of what rounding left and the coarse ones of the coordinates, of queries the other way round. Of queries
// the numbers are negated, which -128 cannot be.
template <bool query>
__device__ ByteRow round_row(const Directions& directions, const __half* vector, const Along& of, std::int64_t i_row,
                             std::int8_t* out) {
    const double* const along = of.coordinates ? of.coordinates + i_row * of.stride : nullptr;
    extern __shared__ double shared[];
    const ByteForm& bytes = directions.bytes;
    const LeadingDirections& leading = bytes.leading;
    const int lane = threadIdx.x % 32;
    const std::int64_t coordinates = directions.coordinates();
    LeadingSums sums(shared, directions);
    double norm2 = 0, phi2 = 0, own2 = 0, stepped2 = 0, noise2 = 0, clipped2 = 0, clipped = 0, cross = 0;
    if (along) {
        for (std::int64_t j = lane; j < directions.depth; j += 32) {
            const auto x = static_cast<double>(__half2float(vector[j]));
            norm2 += x * x;
        }
        for (std::int64_t c = lane; c < directions.columns; c += 32) phi2 += along[c] * along[c];
        norm2 = warp_sum(norm2);
        phi2 = warp_sum(phi2);
    }
    exact::ProjectionError error;
    if (along) error = error_of_row(directions, of, i_row, norm2);
    // No less than what the directions leave.
    const double left = error.remainder(norm2, norm2 - phi2), inverse = 1 / bytes.step;
    for (std::int64_t first = lane * 4; first < 2 * directions.form.width; first += 128) {
        char4 four{};
        signed char* const rounded = &four.x;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::int64_t c = first + i;
            if (c >= coordinates) continue;
            const double x = c >= directions.columns ? left
                             : along                 ? along[c]
                                                     : static_cast<double>(__half2float(vector[c])),
                         shift = bytes.shift[c], y = x - shift, nearest = rint(y * inverse),
                         b = fmin(fmax(nearest, query ? -127.0 : -128.0), 127.0), stepped = b * bytes.step,
                         rest = y - stepped;
            rounded[i] = static_cast<signed char>(static_cast<int>(query ? -b : b));
            if (!along) norm2 += x * x;
            own2 += y * y;
            stepped2 += stepped * stepped;
            cross += y * shift;
            if (b == nearest) {
                noise2 += rest * rest;
            } else {
                clipped2 += rest * rest;
                clipped += fabs(rest);
            }
            if (leading.count > 0 && c < directions.columns)
                sums.set(c, query ? y : stepped, b == nearest ? rest : 0.0);
        }
        *reinterpret_cast<char4*>(out + first) = four;
    }
    if (!along) norm2 = warp_sum(norm2);
    const double norm = sqrt(norm2), size = norm + bytes.shift_norm;
    ByteRow row;
    row.norm2 = warp_sum(own2);
    row.stepped2 = warp_sum(stepped2);
    row.noise2 = warp_sum(noise2);
    row.clipped2 = warp_sum(clipped2);
    row.ends = 128 * bytes.step * warp_sum(clipped);
    row.cross = warp_sum(cross);
    row.rounding = canonical_slack * size * size;
    if (along) {
        const double of_coordinates = error.coordinates * norm;
        row.phi_error2 = of_coordinates * of_coordinates;
        row.rounding += of_coordinates * bytes.shift_norm;
        if (!directions.leaves_some()) row.left2 = left * left;
    }
    if (leading.count == 0) return row;
    if (const std::int64_t c = directions.columns + lane; c < sums.padded) sums.set(c, 0, 0);
    __syncwarp();
    const bool of_noise = lane < LeadingDirections::most;
    const double sum = sums.of(leading), step = of_noise ? leading.fine : leading.coarse,
                 number = fmin(fmax(rint(sum / step), -127.0), 127.0), said = number * step, rest = sum - said;
    const auto of_lanes = [&](double x, bool noise) { return warp_sum(of_noise == noise ? x * x : 0.0); };
    row.noise_along2 = of_lanes(sum, true);
    row.noise_said2 = of_lanes(said, true);
    row.noise_rest2 = of_lanes(rest, true);
    row.size_along2 = of_lanes(sum, false);
    row.size_rest2 = of_lanes(rest, false);
    if (lane % LeadingDirections::most < leading.count) {
        const int second = query == of_noise ? leading.count : 0;
        out[coordinates + second + lane % LeadingDirections::most] =
            static_cast<std::int8_t>(static_cast<int>(query ? -number : number));
    }
    return row;
}

__global__ void points_kernel(Directions directions, const __half* vectors, Along along, const float* half_norm,
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
    const ByteRow row = round_row<false>(directions, vectors + at * directions.depth, along, i, out + at * width);
    if (threadIdx.x % 32 != 0) return;
    const double bound = row.bound(bytes, row.stepped2);
    const double lowest =
        (static_cast<double>(h) - row.cross - arithmetic_slack * bound) / (bytes.step * bytes.step) - 1;
    // Not a number, too: then all look at it.
    out_half_norm[at] = lowest >= ByteLimits::finite   ? static_cast<int>(ByteLimits::finite)
                        : lowest > -ByteLimits::finite ? static_cast<int>(floor(lowest))
                                                       : ByteLimits::always;
}

__global__ void queries_kernel(Directions directions, const __half* vectors, Along along, std::int64_t first,
                               std::int64_t count, std::int8_t* out, float* error) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32, at = first + i;
    if (i >= count) return;
    const ByteForm& bytes = directions.bytes;
    const ByteRow row =
        round_row<true>(directions, vectors + at * directions.depth, along, i, out + at * 2 * directions.form.width);
    if (threadIdx.x % 32 != 0) return;
    const double bound = row.bound(bytes, row.norm2) + 0.5 * row.noise2;
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

// Half norms that are not `excluded`: the least, how many are `always` and how many are more than `highest`.
struct HalfNorms {
    int least = ByteLimits::excluded;
    unsigned long long always = 0, beyond = 0;
};
__global__ void half_norms_kernel(const int* half_norm, std::int64_t n, int highest, HalfNorms* out) {
    int least = ByteLimits::excluded;
    unsigned beyond = 0, always = 0;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const int h = half_norm[i];
        if (h >= ByteLimits::excluded) continue;
        always += h <= ByteLimits::always;
        beyond += h > highest;
        least = min(least, h);
    }
    atomicMin(&out->least, least);
    if (always > 0) atomicAdd(&out->always, static_cast<unsigned long long>(always));
    if (beyond > 0) atomicAdd(&out->beyond, static_cast<unsigned long long>(beyond));
}

HalfNorms half_norms(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream) {
    HalfNorms out;
    const Buffer<HalfNorms> on_device(1, stream);
    InFlight work(stream);
    check(cudaMemcpyAsync(on_device.get(), &out, sizeof(out), cudaMemcpyDefault, stream), "cudaMemcpy");
    const unsigned blocks = std::min<unsigned>(item_blocks(n), 1024);
    half_norms_kernel<<<blocks, item_threads, 0, stream>>>(half_norm, n, highest, on_device.get());
    check_launch("half_norms");
    check(cudaMemcpyAsync(&out, on_device.get(), sizeof(out), cudaMemcpyDefault, stream), "cudaMemcpy");
    work.wait("half norms");
    return out;
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

template <int planes>
__global__ void gather_terms_kernel(const uint4* terms, std::int64_t plane, ByteTerms form, const std::uint32_t* query,
                                    std::int64_t count, uint4* out) {
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

void round_points(const Directions& directions, const __half* vectors, const Along& along, const float* half_norm,
                  std::int64_t first, std::int64_t count, std::int64_t n, std::int8_t* out, int* out_half_norm,
                  cudaStream_t stream) {
    points_kernel<<<blocks_for(count, item_warps), item_threads, LeadingSums::bytes_of(directions), stream>>>(
        directions, vectors, along, half_norm, first, count, n, out, out_half_norm);
    check_launch("round_points");
}

void round_queries(const Directions& directions, const __half* vectors, const Along& along, std::int64_t first,
                   std::int64_t count, std::int8_t* out, float* error, cudaStream_t stream) {
    queries_kernel<<<blocks_for(count, item_warps), item_threads, LeadingSums::bytes_of(directions), stream>>>(
        directions, vectors, along, first, count, out, error);
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

ByteRange byte_range(const int* half_norm, std::int64_t n, std::int64_t one_beyond, cudaStream_t stream) {
    constexpr std::int64_t most_sampled = 1 << 16;
    const HalfNorms all = half_norms(half_norm, n, 0, stream);
    ByteRange out{.least = all.least, .most = ByteLimits::always, .always = static_cast<std::int64_t>(all.always)};
    std::vector<int> sample(static_cast<std::size_t>(std::min(n, most_sampled)));
    InFlight copy(stream);
    check(cudaMemcpyAsync(sample.data(), half_norm, sample.size() * sizeof(int), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("half norms");
    std::erase_if(sample, [](int h) { return h >= ByteLimits::excluded; });
    if (sample.empty()) return out;
    const auto most = sample.end() - 1 - static_cast<std::ptrdiff_t>(sample.size()) / one_beyond;
    std::ranges::nth_element(sample, most);
    out.most = *most;
    return out;
}

std::int64_t count_beyond(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream) {
    return static_cast<std::int64_t>(half_norms(half_norm, n, highest, stream).beyond);
}

void augment_byte_points(const int* half_norm, std::int64_t count, ByteTerms form, void* terms, cudaStream_t stream) {
    const auto kernel = form.planes == 1   ? point_terms_kernel<1>
                        : form.planes == 2 ? point_terms_kernel<2>
                                           : point_terms_kernel<wide_planes>;
    kernel<<<item_blocks(count), item_threads, 0, stream>>>(half_norm, count, form, static_cast<uint4*>(terms));
    check_launch("augment_byte_points");
}

void augment_byte_queries(const int* threshold, std::int64_t q, ByteTerms form, std::int32_t full, std::int32_t* counts,
                          void* terms, cudaStream_t stream) {
    const std::int64_t rows = augmented_query_rows(q);
    const auto kernel = form.planes == 1   ? query_terms_kernel<1>
                        : form.planes == 2 ? query_terms_kernel<2>
                                           : query_terms_kernel<wide_planes>;
    kernel<<<item_blocks(rows), item_threads, 0, stream>>>(threshold, q, rows, form, full, counts,
                                                           static_cast<uint4*>(terms));
    check_launch("augment_byte_queries");
}

void gather_byte_terms(const void* terms, std::int64_t plane, ByteTerms form, const std::uint32_t* query,
                       std::int64_t count, void* out, cudaStream_t stream) {
    const auto kernel = form.planes == 1   ? gather_terms_kernel<1>
                        : form.planes == 2 ? gather_terms_kernel<2>
                                           : gather_terms_kernel<wide_planes>;
    kernel<<<item_blocks(count), item_threads, 0, stream>>>(static_cast<const uint4*>(terms), plane / byte_terms, form,
                                                            query, count, static_cast<uint4*>(out));
    check_launch("gather_byte_terms");
}

void use_byte_terms(ByteTerms form, const void* query_terms, const void* point_terms, FilterPass& pass) {
    pass.query_terms = query_terms;
    pass.point_terms = point_terms;
    pass.term_planes = form.planes;
    pass.query_plane = augmented_query_rows(pass.q) * byte_terms;
    pass.point_plane = whole_tiles(pass.n) * byte_terms;
}

}  // namespace kith::gpu
