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

// Values of each query with each row: by all coordinates, with each of the choices, and the least
// that a row as long could have; one after the other. A warp owns a pair.
__global__ void values_kernel(ProjectionTrial trial, float* out) {
    const std::int64_t pair =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (pair >= trial.queries * trial.count) return;
    const int lane = threadIdx.x % 32;
    const std::int64_t x = pair % trial.count, q = pair / trial.count * trial.count / trial.queries;
    const __half *u = trial.rows + q * trial.depth, *v = trial.rows + x * trial.depth;
    double product = 0, u2 = 0, v2 = 0;
    for (std::int64_t j = lane; j < trial.depth; j += 32) {
        const auto a = static_cast<double>(__half2float(u[j])),
                   b = static_cast<double>(__half2float(v[j]));
        product += a * b;
        u2 += a * a;
        v2 += b * b;
    }
    product = warp_sum(product);
    u2 = warp_sum(u2);
    v2 = warp_sum(v2);
    const double of_row = trial.half_norm ? static_cast<double>(trial.half_norm[x]) : 0.0,
                 half = trial.square       ? v2 / 2
                        : isfinite(of_row) ? of_row
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
    values_kernel<<<blocks_for(trial.queries * trial.count, item_warps), item_threads, 0, stream>>>(
        trial, on_device.get());
    check_launch("passing_shares");
    const std::vector<float> values = fetched(on_device, stream);
    // One pair more than pass: of what none of the sample's does, some do.
    std::vector<std::int64_t> passed(choices, 1);
    std::int64_t passed_bytes = 0;
    std::vector<double> others(static_cast<std::size_t>(trial.count - 1));
    for (std::int64_t i = 0; i < trial.queries; ++i) {
        const float* const of = values.data() + static_cast<std::size_t>(i * trial.count) * stride;
        const auto own = [&](std::int64_t x, std::size_t value) {
            return static_cast<double>(of[static_cast<std::size_t>(x) * stride + value]);
        };
        const std::int64_t self = i * trial.count / trial.queries;
        const auto each_other = [&](const auto& use) {
            for (std::int64_t x = 0; x < self; ++x) use(x, x);
            for (std::int64_t x = self + 1; x < trial.count; ++x) use(x, x - 1);
        };
        double least = own(self, choices + 1);
        each_other([&](std::int64_t x, std::int64_t at) {
            others[static_cast<std::size_t>(at)] = own(x, 0);
            least = std::min(least, own(x, choices + 1));
        });
        const double threshold =
            exact::value_at_rank(others, least,
                                 tuning::expected_neighbours(n) *
                                     static_cast<double>(others.size()) / static_cast<double>(n));
        const auto passing = [&](std::size_t value, double slack) {
            std::int64_t count = 0;
            each_other(
                [&](std::int64_t x, std::int64_t) { count += own(x, value) - slack <= threshold; });
            return count;
        };
        for (std::size_t c = 0; c < choices; ++c)
            passed[c] += passing(c + 1, trial.direction_slack);
        passed_bytes += passing(0, trial.slack);
    }
    const double each = 1 / static_cast<double>(trial.count * trial.queries);
    PassingShares shares{.columns = {}, .bytes = each * static_cast<double>(passed_bytes)};
    for (const std::int64_t some : passed)
        shares.columns.push_back(each * static_cast<double>(some));
    return shares;
}

}  // namespace kith::gpu
