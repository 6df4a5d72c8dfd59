// Rounding a row to whole numbers of 8 bits, with the terms of the bound (bytes.h): by a warp, or a
// group of its lanes, a lane four numbers at a time.
#pragma once

#include <cmath>

#include "gpu/filter/along.cuh"
#include "gpu/filter/bound.h"
#include "gpu/filter/bytes.h"
#include "gpu/primitives/warp.cuh"

namespace kith::gpu {

// What the bound's own arithmetic in binary64 rounds, relatively.
inline constexpr double arithmetic_slack = 1 + 0x1p-20;

struct ByteRow {
    double norm2 = 0;     // of what is rounded, y = phi(v) less the shift,
    double stepped2 = 0;  // and of the numbers times the step
    double noise2 = 0;    // of what rounding left of it within the range of a byte,
    double clipped2 = 0;  // and beyond
    double ends = 0;      // the sum of the latter's sizes times the largest number
    // Of y or the numbers times the step, and of the noise, what leading directions have: all of
    // it, what their own numbers say, and what these leave.
    double size_along2 = 0, size_rest2 = 0, noise_along2 = 0, noise_said2 = 0, noise_rest2 = 0;
    double left2 = 0;       // the square of what the directions leave and phi does not have
    double cross = 0;       // the product with the shift
    double phi_error2 = 0;  // the square of what coordinates may be away from exact ones
    double rounding = 0;    // what binary64 may round of the product with the shift, and of other
                            // terms of that size

    // The least that the half norm h of a point may become.
    __device__ double least(const ByteForm& bytes, double h) const {
        return h - cross - arithmetic_slack * bound(bytes, stepped2);
    }
    // What a query adds to its threshold; +inf where nothing is known of it.
    __device__ float error(const ByteForm& bytes) const {
        const double of_rounding = bound(bytes, norm2) + 0.5 * noise2;
        const double all =
            cross + bytes.shift_norm * bytes.shift_norm + arithmetic_slack * of_rounding;
        return isfinite(all) ? __double2float_ru(all) : __int_as_float(0x7f800000);
    }

private:
    // What a point and a query have in common of F and E; `size2`: of what is multiplied.
    __device__ double bound(const ByteForm& bytes, double size2) const {
        const LeadingDirections& leading = bytes.leading;
        double sum = pair(across(noise2, noise_along2), bytes.kappa, across(size2, size_along2)) +
                     left2 + clipped2;
        if (leading.count > 0)
            sum += pair(size_rest2, leading.coarse_kappa, noise_said2) +
                   pair(noise_rest2, leading.fine_kappa, size_along2);
        // phi's own error times either side, and times another.
        sum += pair(phi_error2, bytes.error_kappa, norm2) + phi_error2;
        return 0.5 * sum + ends + rounding;
    }

    // Twice what the product of two lengths is at most, of which each row has one.
    __device__ static double pair(double a2, double kappa, double b2) {
        return a2 / kappa + kappa * b2;
    }
    // The square of what a vector has beside leading directions, which are orthonormal but for
    // rounding.
    __device__ static double across(double all2, double along2) {
        return fmax(0.0, all2 - along2) + 0x1p-32 * (all2 + along2);
    }
};

// Doubles of shared memory that rounding a row takes.
KITH_HD std::int64_t byte_row_doubles(const Directions& directions) {
    return directions.bytes.leading.count > 0 ? 2 * LeadingDirections::padded(directions.columns)
                                              : 0;
}

// A row's coordinates in that memory, and what leading directions have of these.
struct LeadingSums {
    double* size;  // y or the numbers times the step; the noise behind them
    std::int64_t padded;

    __device__ LeadingSums(double* shared, const Directions& directions)
        : size(shared), padded(LeadingDirections::padded(directions.columns)) {}
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

// Rows of directions.form.width pairs of numbers: those of phi, then, where there are leading
// directions, of points the fine numbers of what rounding left and the coarse ones of the
// coordinates, of queries the other way round. Of queries the numbers are negated, which -128
// cannot be. `shared`: byte_row_doubles() of the warp's own. Fewer than 32 lanes round rows of
// coordinates alone.
template <bool query, int lanes = 32>
__device__ ByteRow round_to_bytes(const Directions& directions, const __half* vector,
                                  const Along& of, std::int64_t i_row, double* shared,
                                  std::int8_t* out) {
    const double* const along =
        lanes == 32 && of.coordinates ? of.coordinates + i_row * of.stride : nullptr;
    const ByteForm& bytes = directions.bytes;
    const LeadingDirections& leading = bytes.leading;
    const bool leads = lanes == 32 && leading.count > 0;
    const int lane = threadIdx.x % lanes;
    const std::int64_t coordinates = directions.coordinates();
    LeadingSums sums(shared, directions);
    double norm2 = 0, phi2 = 0, own2 = 0, stepped2 = 0, noise2 = 0, clipped2 = 0, clipped = 0,
           cross = 0;
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
    for (std::int64_t first = lane * 4; first < 2 * directions.form.width; first += 4 * lanes) {
        char4 four{};
        signed char* const rounded = &four.x;
        alignas(8) __half elements[4]{};
        if constexpr (lanes < 32) {
            // Rows are as a filter has them: as many halves as a multiple of 16.
            if (first < directions.depth)
                *reinterpret_cast<uint2*>(elements) =
                    *reinterpret_cast<const uint2*>(vector + first);
        } else {
            for (int i = 0; i < 4; ++i)
                if (!along && first + i < coordinates) elements[i] = vector[first + i];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::int64_t c = first + i;
            if (c >= coordinates) continue;
            const double x = c >= directions.columns ? left
                             : along                 ? along[c]
                                     : static_cast<double>(__half2float(elements[i])),
                         shift = __ldg(bytes.shift + c), y = x - shift, nearest = rint(y * inverse),
                         b = fmin(fmax(nearest, query ? -127.0 : -128.0), 127.0),
                         stepped = b * bytes.step, rest = y - stepped;
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
            if (leads && c < directions.columns)
                sums.set(c, query ? y : stepped, b == nearest ? rest : 0.0);
        }
        *reinterpret_cast<char4*>(out + first) = four;
    }
    if (!along) norm2 = group_sum<lanes>(norm2);
    const double norm = sqrt(norm2), size = norm + bytes.shift_norm;
    ByteRow row;
    row.norm2 = group_sum<lanes>(own2);
    row.stepped2 = group_sum<lanes>(stepped2);
    row.noise2 = group_sum<lanes>(noise2);
    row.clipped2 = group_sum<lanes>(clipped2);
    row.ends = 128 * bytes.step * group_sum<lanes>(clipped);
    row.cross = group_sum<lanes>(cross);
    row.rounding = canonical_slack * size * size;
    if (along) {
        const double of_coordinates = error.coordinates * norm;
        row.phi_error2 = of_coordinates * of_coordinates;
        row.rounding += of_coordinates * bytes.shift_norm;
        if (!directions.leaves_some()) row.left2 = left * left;
    }
    if (!leads) return row;
    if (const std::int64_t c = directions.columns + lane; c < sums.padded) sums.set(c, 0, 0);
    __syncwarp();
    const bool of_noise = lane < LeadingDirections::most;
    const double sum = sums.of(leading), step = of_noise ? leading.fine : leading.coarse,
                 number = fmin(fmax(rint(sum / step), -127.0), 127.0), said = number * step,
                 rest = sum - said;
    const auto of_lanes = [&](double x, bool noise) {
        return warp_sum(of_noise == noise ? x * x : 0.0);
    };
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

}  // namespace kith::gpu
