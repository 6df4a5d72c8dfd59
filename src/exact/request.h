// Validated and planned requests to a backend: a search, distances, a selection.
#pragma once

#include <cstdint>

#include "exact/report/progress.h"
#include "kith/distances.h"
#include "kith/plan.h"
#include "kith/types.h"

namespace kith {

struct SearchRequest {
    MatrixView queries;  // for a graph: the points
    std::int64_t k = 0;
    bool graph = false;  // query i excludes id i
    const Plan& plan;
    bool f64 = false;        // distances are f64, else f32
    void* stream = nullptr;  // cudaStream_t of the caller
    ProgressMeter& progress;
    NeighborsView out;  // in host or device memory
    Report& report;     // counters are added to it
    bool keys = false;  // report distance keys (contract.md, section 1) as distances; needs f64
};

// All distances of the queries to prepared points.
struct DistancesRequest {
    MatrixView queries;
    const Plan& plan;        // of a full scan
    bool f64 = false;        // values are f64, else f32
    void* stream = nullptr;  // cudaStream_t of the caller
    ProgressMeter& progress;
    DistancesView out;  // with its stride set
};

// A selection from the rows of a matrix.
struct Selection {
    std::int64_t k = 0;
    bool largest = false, sorted = true;
    const std::int64_t* lengths = nullptr;  // per row, at most its columns; null: all columns
};

struct SelectRequest {
    MatrixView matrix;  // of f32, f64, f16 or bf16, in host or device memory
    Selection selection;
    bool lengths_on_device = false;
    const Plan& plan;
    void* stream = nullptr;
    bool enqueue = false;  // only enqueue: everything is on the plan's device
    ProgressMeter& progress;
    NeighborsView out;
    Report& report;
};

}  // namespace kith
