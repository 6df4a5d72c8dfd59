// Kernels of ball_thresholds.h. A warp owns a query: the sums that relate its filter values to
// distance keys, in binary64, of the coordinates that MetricKernels::sample gives.
#include "gpu/filter/ball_thresholds.h"

#include <algorithm>

#include "gpu/filter/ball_bound.h"
#include "gpu/metric/prepared_rows.h"
#include "gpu/primitives/f32.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// What w is of the keys.
enum class Relation {
    direct,
    cosine,
    dot,
    entropy,
    l2,
    unit_l2
};  // dot: inner products, shifted or not

Relation relation_of(const FilterForm& form) {
    if (form.is_direct()) return Relation::direct;
    if (form.gemm == metric::Gemm::cosine) return Relation::cosine;
    if (form.shifts_products()) return Relation::dot;
    if (form.gemm == metric::Gemm::l2) return form.unit ? Relation::unit_l2 : Relation::l2;
    return form.least > 0 ? Relation::entropy : Relation::dot;
}

struct ThresholdTask {
    PreparedRows queries;
    FilterForm form;
    Relation relation;
    const double* coordinates;  // queries x d, or null
    std::int64_t d;
    double direct_scale, growth;
    const float* query_error;
    const std::uint8_t* unfit;
    BallBounds bounds;
    BallThresholds out;
};

__device__ KeyImage image_of(const ThresholdTask& task, std::int64_t query) {
    const FilterForm& form = task.form;
    const int lane = threadIdx.x % 32;
    const double* const x = task.coordinates + query * task.d;
    const auto sum = [&](auto term) {
        double s = 0;
        for (std::int64_t i = lane; i < task.d; i += 32) s += term(i);
        return warp_sum(s);
    };
    KeyImage image;
    image.error = static_cast<double>(task.query_error[query]);
    image.ceiling = static_cast<double>(form.ceiling);
    switch (task.relation) {
        case Relation::direct:
            image.scale = task.direct_scale;
            image.growth = task.growth;
            image.whole = form.tie_classes > 0;
            break;
        case Relation::cosine:
            image.scale = form.scale * form.query_scale;
            image.offset = -image.scale;
            break;
        case Relation::dot: {
            const double norm = sqrt(sum([&](std::int64_t i) { return x[i] * x[i]; }));
            image.scale =
                form.scale *
                (form.shifts_products() ? form.scale * form.product_norm : form.query_scale) / norm;
            if (form.centre)
                image.offset =
                    image.scale * sum([&](std::int64_t i) { return x[i] * form.centre[i]; });
            break;
        }
        case Relation::entropy: {
            const auto raw = [&](std::int64_t i) { return task.queries.rows.at(query, i); };
            const double norm = sqrt(sum([&](std::int64_t i) { return raw(i) * raw(i); }));
            image.scale = form.scale * form.query_scale / norm;
            // The coordinates are logarithms less the centre.
            image.offset = -image.scale *
                           sum([&](std::int64_t i) { return raw(i) == 0 ? 0.0 : raw(i) * x[i]; });
            break;
        }
        case Relation::l2:
            image.scale = form.scale * form.scale / 2;
            image.offset = -0.5 * sum([&](std::int64_t i) {
                const double u = x[i] * form.scale;
                return u * u;
            });
            break;
        case Relation::unit_l2: {
            const double norm = sqrt(sum([&](std::int64_t i) { return x[i] * x[i]; }));
            image.scale = form.scale * form.scale;
            image.offset = -0.5 * sum([&](std::int64_t i) {
                const double u = (x[i] / norm - (form.centre ? form.centre[i] : 0.0)) * form.scale;
                return u * u;
            });
            break;
        }
    }
    return image;
}

__global__ void thresholds_kernel(ThresholdTask task) {
    const std::int64_t query =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (query >= task.queries.rows.count) return;
    const float nothing = __int_as_float(0x7fffffff), infinity = __int_as_float(0x7f800000);
    const double outer = task.bounds.outer[query];
    BallState state = ball_answered;
    if (task.unfit[query] == no_neighbours || outer != outer) state = ball_empty;
    else if (task.unfit[query] != fit) state = ball_unfit;
    float excluded = nothing, included = -infinity;
    if (state == ball_answered) {
        const KeyImage image = image_of(task, query);
        excluded = fminf(__double2float_ru(excluded_above(image, outer)), largest_f32);
        included = __double2float_rd(included_up_to(image, task.bounds.inner[query]));
    }
    if (threadIdx.x % 32 != 0) return;
    task.out.excluded[query] = excluded;
    if (task.out.included) task.out.included[query] = included;
    task.out.state[query] = state;
}

// Of numbers that are not negative the bits are in their order.
__global__ void largest_error_kernel(const float* point_error, std::int64_t n, unsigned* most) {
    unsigned largest = 0;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
        const unsigned bits = __float_as_uint(point_error[i]);
        if (bits < 0x7f800000u) largest = max(largest, bits);
    }
    largest = __reduce_max_sync(0xffffffffu, largest);
    if (threadIdx.x % 32 == 0) atomicMax(most, largest);
}

__global__ void sure_kernel(const float* included, std::int64_t q, const unsigned* most,
                            float* sure) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < q) sure[i] = __fsub_rd(included[i], 2.0f * __uint_as_float(*most));
}

// Coordinates in binary64 that are held at a time.
constexpr std::int64_t most_coordinates = 1 << 21;

}  // namespace

void ball_thresholds(const MetricKernels* kernels, const PreparedRows& queries,
                     const FilterForm& form, const float* query_error, const std::uint8_t* unfit,
                     const BallBounds& bounds, const metric::Params& params,
                     const BallThresholds& out, cudaStream_t stream) {
    const Relation relation = relation_of(form);
    const bool sums = relation != Relation::direct && relation != Relation::cosine;
    const std::int64_t q = queries.rows.count, d = params.d;
    const std::int64_t step = sums ? std::clamp<std::int64_t>(most_coordinates / d, 1, q) : q;
    Buffer<double> coordinates(sums ? step * d : 0, stream);
    // Lengths come from the coordinates themselves.
    FilterForm sampled = form;
    if (relation == Relation::unit_l2 || relation == Relation::dot) sampled.centre = nullptr;
    const bool f64 = queries.rows.type == ElementType::f64;
    for (std::int64_t first = 0; first < q; first += step) {
        const std::int64_t count = std::min(step, q - first);
        const PreparedRows some = slice(queries, first, count);
        if (sums) kernels->sample(some, count, sampled, coordinates.get(), params, stream);
        const ThresholdTask task{
            .queries = some,
            .form = form,
            .relation = relation,
            .coordinates = coordinates.get(),
            .d = d,
            .direct_scale = form.direct.degree > 0 ? std::pow(form.scale, form.direct.degree) : 1.0,
            .growth = static_cast<double>(f64 ? form.rounded_growth : form.growth),
            .query_error = query_error + first,
            .unfit = unfit + first,
            .bounds = {bounds.inner + first, bounds.outer + first},
            .out = {out.excluded + first, out.included ? out.included + first : nullptr,
                    out.state + first}};
        thresholds_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(task);
        check_launch("ball_thresholds");
    }
}

void sure_limits(const float* included, std::int64_t q, const float* point_error, std::int64_t n,
                 unsigned* most, float* sure, cudaStream_t stream) {
    check(cudaMemsetAsync(most, 0, sizeof(*most), stream), "cudaMemset");
    const unsigned blocks = std::min(item_blocks(n), 1024u);
    largest_error_kernel<<<blocks, item_threads, 0, stream>>>(point_error, n, most);
    check_launch("largest_error");
    sure_kernel<<<item_blocks(q), item_threads, 0, stream>>>(included, q, most, sure);
    check_launch("sure_limits");
}

}  // namespace kith::gpu
