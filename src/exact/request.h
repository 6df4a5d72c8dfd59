// What a backend is asked for, validated and planned: a search, a selection, a part of a graph in
// grids.
#pragma once

#include <cstdint>

#include "exact/progress.h"
#include "kith/distances.h"
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
    bool keys = false;  // distances are the distance keys (exactness.md, section 1); with f64
};

// All distances of the queries to points that have been prepared.
struct DistancesRequest {
    MatrixView queries;
    const Plan& plan;        // of the full scan
    bool f64 = false;        // values are f64, else f32
    void* stream = nullptr;  // cudaStream_t of the caller
    ProgressMeter& progress;
    DistancesView out;  // its stride is set
};

// What is to be selected from the rows of a matrix.
struct Selection {
    std::int64_t k = 0;
    bool largest = false, sorted = true;
    const std::int64_t* lengths =
        nullptr;  // of each row, at most its columns, or null: all of them
};

struct SelectRequest {
    MatrixView matrix;  // of f32, f64, f16 or bf16, in host or device memory
    Selection selection;
    bool lengths_on_device = false;
    const Plan& plan;
    void* stream = nullptr;
    bool enqueue = false;  // only enqueues: everything lies on the plan's device
    ProgressMeter& progress;
    NeighborsView out;
    Report& report;
};

}  // namespace kith
