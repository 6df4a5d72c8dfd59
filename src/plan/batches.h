// Plans of many small searches (kith/batches.h): in one launch, as a task each, or one after
// another.
#pragma once

#include <cstdint>
#include <string>

#include "kith/batches.h"
#include "plan/planner.h"

namespace kith::planner {

// The facts that the plan depends on, without data. n and q of `shape` count the rows of all
// batches.
struct BatchesShape {
    Shape shape;
    ElementType query_type = ElementType::f32;
    int out_device = host_memory, query_device = host_memory;
    std::int64_t most_points = 0;  // points of the largest batch
    std::int64_t blocks = 0;       // blocks of the GPU kernel
    std::int64_t batches = 0;
    double pairs = 0;  // query-point pairs of all batches
    bool f64 = false;
};
BatchesShape shape_of(const MatrixView& points, const MatrixView& queries,
                      const std::vector<Batch>& batches, std::int64_t k, bool f64, int out_device);

enum class BatchesRun : std::uint8_t {
    together,    // all batches in one launch on a GPU
    tasks,       // on a CPU: one thread for each small batch
    separately,  // one search per batch
};

struct BatchesPlan {
    BatchesRun run = BatchesRun::separately;
    int device = host_memory;
    std::int64_t workspace_bytes = 0;  // on the device, for one launch
    int threads = 1;                   // that share the tasks
    std::string isa;                   // CPU only
    std::string why;
};

// `request`: options and metric; its shape is ignored. Throws as make() does for the device.
BatchesPlan batches(const Request& request, const BatchesShape& shape, const Machine& machine);
// Bytes that a launch takes on the device beyond the caller's memory.
std::int64_t batches_bytes(const BatchesShape& shape, int device, int data_device);

// The path for a small batch on a CPU, "tree" or "" (the planner's choice). In a small batch a tree
// pays, though search() would not choose one: its trial rejects trees when queries look at a tenth
// of the points, and among few points every query does.
const char* batch_path(const metric::Traits& traits, const Batch& batch, std::int64_t d,
                       std::int64_t k);

// True if a batch of this many pairs is a task of one thread; otherwise all threads search it.
bool is_task(double pairs, double all_pairs, int threads);

}  // namespace kith::planner
