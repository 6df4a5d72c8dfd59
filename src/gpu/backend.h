// The GPU backend: points prepared once on a device, exact searches on them, selection. No CUDA type crosses this
// header; without CUDA, absent.cpp answers that there is no device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exact/problem.h"
#include "exact/progress.h"
#include "kith/plan.h"

namespace kith::gpu {

struct DeviceInfo {
    std::string name;
    int capability = 0;  // 90 for 9.0
    int multiprocessors = 0;
    std::int64_t total_bytes = 0;
    std::int64_t free_bytes = 0;
};

// 0 where there is no driver or no device. Never throws.
int device_count();
// Throws device.
DeviceInfo device_info(int device);
// Its name alone, without asking for free memory, which takes as long as a small search.
std::string device_name(int device);
// "" or the reason why device_count() is 0.
std::string absence();
// The ordinal on which `data` lies, or host_memory.
int location(const void* data);
// What compiles formulas for a device, or that there is nothing. Never throws.
std::string formula_compiler();
// Copies between host and device memory; either side may be host or device. Behind all work that the device has been
// given on any stream, and over on return: for what the host reads and writes of the caller's device memory.
void copy(void* to, const void* from, std::size_t bytes);

class Points;
// `own`: as cpu::prepare. Points beyond plan.chunk_points stay where they are and stream through the device per search.
std::shared_ptr<const Points> prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool own,
                                      void* stream);

// The elements of the points, as kept (valid as long as they are).
MatrixView elements(const Points& points);

// As cpu::search, but into the caller's result, in host or device memory; distances are f64 where `f64`.
void search(const Points& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan, bool f64,
            void* stream, ProgressMeter& progress, const NeighborsView& out, Report& report);

// kith::select on a device: `matrix` of f32 or f64 in host or device memory.
void select(const MatrixView& matrix, std::int64_t k, bool largest, bool sorted, const Plan& plan, void* stream,
            ProgressMeter& progress, const NeighborsView& out, Report& report);

// What selections counted since the last call, by the slots that each selector's file names. Empty unless built with
// KITH_COUNT_OPERATIONS. Not for several threads at once.
std::vector<std::uint64_t> take_operation_counts();

}  // namespace kith::gpu
