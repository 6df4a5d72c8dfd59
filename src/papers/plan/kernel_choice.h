// The distance kernel for a selector that was asked for without one. Plain host code.
#pragma once

#include <cstdint>
#include <string_view>

#include "papers/distance/distance_kernels.h"

namespace kith::planner {

// A distance kernel, and where it is the fastest: what a row does not state fits everything.
struct KernelRow {
    std::string_view name;
    std::int64_t max_q = INT64_MAX, min_d = 0, max_d = INT64_MAX;
    std::string_view reason;

    constexpr bool fits(std::int64_t q, std::int64_t d) const {
        return q <= max_q && d >= min_d && d <= max_d;
    }
};

// The matrix alone, by q from 1 to 8,192 and d from 4 to 512 on an NVIDIA H200, 2026-11-23
// (`kith-bench search --table hanak-fig5.1`, bench/results/h200/hanak-5.1.txt; d 256:
// distance-kernels-cuvs.txt); bounds between the grid's values are reasoned. The last row fits
// everything.
inline constexpr KernelRow kernel_rows[] = {
    {.name = "baseline", .max_q = 1, .reason = "one query reads every point once"},
    {.name = "cublas", .max_q = 16, .min_d = 16, .reason = "few queries: a matrix product"},
    {.name = "baseline", .max_q = 16, .max_d = 16, .reason = "few queries, few dimensions"},
    {.name = "cublas", .max_q = 64, .min_d = 64, .reason = "few queries: a matrix product"},
    {.name = "krulis", .max_q = 64, .reason = "few queries stay in shared memory"},
    {.name = "cublas", .min_d = 256, .reason = "many dimensions: a matrix product"},
    {.name = "register-tiled", .reason = "tiles of pairs in registers"},
};

// The first row that fits and whose kernel serves: that of products only where `products`.
constexpr const KernelRow& fastest_kernel(std::int64_t q, std::int64_t d, bool products) {
    const KernelRow* last = nullptr;
    for (const KernelRow& row : kernel_rows) {
        last = &row;
        const gpu::DistanceKernel* const kernel = gpu::find_distance_kernel(row.name);
        if (row.fits(q, d) && kernel && (products || !kernel->expanded())) break;
    }
    return *last;
}

}  // namespace kith::planner
