// One search and one selection as the GPU backend is given them: validated, planned, with the caller's result.
#pragma once

#include <cstdint>

#include "exact/progress.h"
#include "kith/plan.h"
#include "kith/types.h"

namespace kith {

struct SearchRequest {
    MatrixView queries;  // of a graph: the points
    std::int64_t k = 0;
    bool graph = false;  // query i excludes id i
    const Plan& plan;
    bool f64 = false;        // distances are f64, else f32
    void* stream = nullptr;  // cudaStream_t of the caller
    ProgressMeter& progress;
    NeighborsView out;  // in host or device memory
    Report& report;     // counters are added
};

struct SelectRequest {
    MatrixView matrix;  // of f32 or f64, in host or device memory
    std::int64_t k = 0;
    bool largest = false, sorted = true;
    const Plan& plan;
    void* stream = nullptr;
    ProgressMeter& progress;
    NeighborsView out;
    Report& report;
};

}  // namespace kith
