// Kernels around a user's metric: conversion to binary64, distances to ordered keys, reports. The distances themselves
// come from formula.cpp (NVRTC) or from the functor's own launch.
#include "exact/canonical.h"
#include "exact/order.h"
#include "gpu/metric/formula.h"
#include "gpu/metric/user.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "kith/functor.h"

namespace kith::gpu {

namespace {

__global__ void find_nan(Rows rows, std::uint8_t* nan, std::int64_t d) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= rows.count) return;
    bool bad = false;
    for (std::int64_t i = threadIdx.x % 32; i < d; i += 32) {
        const double x = rows.at(row, i);
        bad |= x != x;
    }
    bad = __any_sync(0xffffffffu, bad);
    if (threadIdx.x % 32 == 0) nan[row] = bad;
}

__global__ void convert_natural(Rows rows, double* out, std::int64_t d) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < rows.count * d) out[cell] = rows.at(cell / d, cell % d);
}

__global__ void distances_to_keys(ScanTile tile, const double* distances) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= tile.q * tile.n) return;
    const std::int64_t q = cell / tile.n, x = cell % tile.n;
    const bool eligible =
        !tile.query_nan[q] && !tile.point_nan[x] && !(tile.self && tile.self[q] == tile.first_point + x);
    tile.keys[q * tile.ld + x] =
        eligible ? exact::Order<double>::key(exact::ordered_rank(distances[cell])) : exact::Order<double>::nan;
}

template <class T>
__global__ void report_values(const std::uint64_t* keys, T* out, std::int64_t count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const bool missing = keys[i] == exact::Order<double>::nan;
    out[i] = static_cast<T>(missing ? bits_to_double(0x7ff0000000000000ULL) : exact::Order<double>::value(keys[i]));
}

}  // namespace

void user_measure(const Rows& rows, std::uint8_t* nan, std::int64_t d, cudaStream_t stream) {
    find_nan<<<item_blocks(rows.count * 32), item_threads, 0, stream>>>(rows, nan, d);
    check_launch("find_nan");
}

void user_convert(const Rows& rows, double* out, std::int64_t d, cudaStream_t stream) {
    convert_natural<<<item_blocks(rows.count * d), item_threads, 0, stream>>>(rows, out, d);
    check_launch("convert_natural");
}

void user_scan(const ScanTile& tile, const MetricSpec& metric, double* distances, cudaStream_t stream) {
    const std::int64_t d = metric.params.d;
    if (metric.functor) {
        check(static_cast<cudaError_t>(metric.functor->device(metric.functor->state, tile.queries, tile.q, tile.points,
                                                              tile.n, d, metric.start, distances, tile.n, stream)),
              metric.functor->name);
    } else {
        formula_distances(*metric.formula, metric.start, tile.queries, tile.q, tile.points, tile.n, d, distances,
                          stream);
    }
    distances_to_keys<<<item_blocks(tile.q * tile.n), item_threads, 0, stream>>>(tile, distances);
    check_launch("distances_to_keys");
}

void user_report(const std::uint64_t* keys, void* out, bool f64, std::int64_t count, cudaStream_t stream) {
    if (f64) report_values<<<item_blocks(count), item_threads, 0, stream>>>(keys, static_cast<double*>(out), count);
    else report_values<<<item_blocks(count), item_threads, 0, stream>>>(keys, static_cast<float*>(out), count);
    check_launch("report_values");
}

}  // namespace kith::gpu
