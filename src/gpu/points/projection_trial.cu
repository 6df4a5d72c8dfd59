// A warp computes the values of a pair; the host ranks them.
#include "gpu/points/projection_trial.h"

#include <algorithm>
#include <limits>

#include "exact/value_at_rank.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Values of each query with each row: by all coordinates, with each of the choices, and the least that a row as long
// could have; one after the other. A warp owns a pair.
__global__ void values_kernel(ProjectionTrial trial, float* out) {
    const std::int64_t pair = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (pair >= trial.queries * trial.count) return;
    const int lane = threadIdx.x % 32;
    const std::int64_t x = pair % trial.count, q = pair / trial.count * trial.count / trial.queries;
    const __half *u = trial.rows + q * trial.depth, *v = trial.rows + x * trial.depth;
    double product = 0, u2 = 0, v2 = 0;
    for (std::int64_t j = lane; j < trial.depth; j += 32) {
        const auto a = static_cast<double>(__half2float(u[j])), b = static_cast<double>(__half2float(v[j]));
        product += a * b;
        u2 += a * a;
        v2 += b * b;
    }
    product = warp_sum(product);
    u2 = warp_sum(u2);
    v2 = warp_sum(v2);
    const double of_row = trial.half_norm ? static_cast<double>(trial.half_norm[x]) : 0.0, half = trial.square ? v2 / 2
                                                                                                  : isfinite(of_row)
                                                                                                      ? of_row
                                                                                                      : 0;
    float* const own = out + pair * (trial.choices + 2);
    if (lane == 0) {
        own[0] = static_cast<float>(half - product);
        own[trial.choices + 1] = static_cast<float>(trial.square ? -u2 / 2 : half - sqrt(u2 * v2));
    }
    const double *y = trial.along + q * trial.stride, *z = trial.along + x * trial.stride;
    double along = 0, u_left = u2, v_left = v2;
    for (int c = 0, first = 0; c < trial.choices; first = trial.columns[c++]) {
        double part = 0, y2 = 0, z2 = 0;
        for (int j = first + lane; j < trial.columns[c]; j += 32) {
            part += y[j] * z[j];
            y2 += y[j] * y[j];
            z2 += z[j] * z[j];
        }
        along += warp_sum(part);
        u_left -= warp_sum(y2);
        v_left -= warp_sum(z2);
        const double left = sqrt(fmax(0.0, u_left) * fmax(0.0, v_left));
        if (lane == 0) own[c + 1] = static_cast<float>(half - along - left);
    }
}

}  // namespace

PassingShares passing_shares(const ProjectionTrial& trial, std::int64_t n, cudaStream_t stream) {
    const auto choices = static_cast<std::size_t>(trial.choices), stride = choices + 2;
    const Buffer<float> on_device(trial.queries * trial.count * (trial.choices + 2), stream);
    values_kernel<<<blocks_for(trial.queries * trial.count, item_warps), item_threads, 0, stream>>>(trial,
                                                                                                    on_device.get());
    check_launch("passing_shares");
    const std::vector<float> values = fetched(on_device, stream);
    const double each = 1 / static_cast<double>(trial.count * trial.queries);
    // One pair more than pass: of what none of the sample's does, some do.
    PassingShares shares{.columns = std::vector<double>(choices, each)};
    std::vector<double> all;
    for (std::int64_t i = 0; i < trial.queries; ++i) {
        const float* const of = values.data() + static_cast<std::size_t>(i * trial.count) * stride;
        const std::int64_t self = i * trial.count / trial.queries;
        all.clear();
        double least = std::numeric_limits<double>::infinity();
        for (std::int64_t x = 0; x < trial.count; ++x) {
            const float* const own = of + static_cast<std::size_t>(x) * stride;
            if (x != self) all.push_back(static_cast<double>(own[0]));
            least = std::min(least, static_cast<double>(own[choices + 1]));
        }
        const double rank = tuning::expected_neighbours(n) * static_cast<double>(all.size()) / static_cast<double>(n);
        const double threshold = exact::value_at_rank(all, least, rank);
        for (std::int64_t x = 0; x < trial.count; ++x) {
            if (x == self) continue;
            const float* const own = of + static_cast<std::size_t>(x) * stride;
            const auto passes = [&](std::size_t choice, double slack) {
                return static_cast<double>(own[choice]) - slack <= threshold ? each : 0.0;
            };
            for (std::size_t c = 0; c < choices; ++c) shares.columns[c] += passes(c + 1, trial.direction_slack);
            shares.bytes += passes(0, trial.slack);
        }
    }
    return shares;
}

}  // namespace kith::gpu
