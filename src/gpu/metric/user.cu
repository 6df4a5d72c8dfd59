// Kernels around a user's metric: conversion to binary64, a functor's distances to ordered keys,
// reports. A functor launches its own kernel (kith/functor_cuda.h); formula.cpp has that of a
// formula.
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
    const std::int64_t row =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
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

// In place: the keys are the distances' bits. A thread owns a point and walks the queries of its
// block row.
__global__ void distances_to_keys(ScanTile tile) {
    const std::int64_t x = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (x >= tile.n) return;
    const bool point_nan = tile.point_nan[x];
    for (std::int64_t q = blockIdx.y; q < tile.q; q += gridDim.y) {
        const bool eligible = !tile.query_nan[q] && !point_nan &&
                              !(tile.self && tile.self[q] == tile.first_point + x);
        std::uint64_t& key = tile.keys[q * tile.ld + x];
        key = eligible ? exact::Order<double>::key(exact::ordered_rank(bits_to_double(key)))
                       : exact::Order<double>::nan;
    }
}

template <class T>
__global__ void report_values(const std::uint64_t* keys, T* out, std::int64_t count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const bool missing = keys[i] == exact::Order<double>::nan;
    out[i] = static_cast<T>(missing ? bits_to_double(0x7ff0000000000000ULL)
                                    : exact::Order<double>::value(keys[i]));
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

void user_scan(const ScanTile& tile, const MetricSpec& metric, cudaStream_t stream) {
    const std::int64_t d = metric.params.d;
    if (!metric.functor) {
        formula_scan(*metric.formula, metric.start, tile, d, stream);
        return;
    }
    auto* const distances = reinterpret_cast<double*>(tile.keys);
    check(static_cast<cudaError_t>(
              metric.functor->device(metric.functor->state, tile.queries, tile.q, tile.points,
                                     tile.n, d, metric.start, distances, tile.ld, stream)),
          metric.functor->name);
    const auto rows = static_cast<unsigned>(tile.q < 65535 ? tile.q : 65535);
    distances_to_keys<<<dim3(item_blocks(tile.n), rows), item_threads, 0, stream>>>(tile);
    check_launch("distances_to_keys");
}

void user_refine(const RefineTask& task, const MetricSpec& metric, cudaStream_t stream) {
    formula_refine(*metric.formula, metric.start, task, metric.params.d, stream);
}

void user_report(const std::uint64_t* keys, void* out, bool f64, std::int64_t count,
                 cudaStream_t stream) {
    if (f64)
        report_values<<<item_blocks(count), item_threads, 0, stream>>>(
            keys, static_cast<double*>(out), count);
    else
        report_values<<<item_blocks(count), item_threads, 0, stream>>>(
            keys, static_cast<float*>(out), count);
    check_launch("report_values");
}

}  // namespace kith::gpu
