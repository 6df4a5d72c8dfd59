// How many small searches run (kith/batches.h): in one launch, as a task each, or one after
// another.
#pragma once

#include <cstdint>
#include <string>

#include "kith/batches.h"
#include "plan/planner.h"

namespace kith::planner {

// What the plan depends on, without data. Of `shape`, n and q are the rows of all batches.
struct BatchesShape {
    Shape shape;
    ElementType query_type = ElementType::f32;
    int out_device = host_memory, query_device = host_memory;
    std::int64_t most_points = 0;  // of one batch
    std::int64_t blocks = 0;       // of the GPU's kernel
    std::int64_t batches = 0;
    double pairs = 0;  // of all
    bool f64 = false;
};
BatchesShape shape_of(const MatrixView& points, const MatrixView& queries,
                      const std::vector<Batch>& batches, std::int64_t k, bool f64, int out_device);

enum class BatchesRun : std::uint8_t {
    together,    // one launch on a GPU
    tasks,       // on a CPU, each small batch by one thread
    separately,  // a search each
};

struct BatchesPlan {
    BatchesRun run = BatchesRun::separately;
    int device = host_memory;
    std::int64_t workspace_bytes = 0;  // of a launch, on the device
    int threads = 1;                   // of tasks
    std::string isa;                   // of a CPU
    std::string why;
};

// `request`: options and metric; its shape is not read. Throws as make() does for the device.
BatchesPlan batches(const Request& request, const BatchesShape& shape, const Machine& machine);
// What a launch takes on the device beyond the caller's memory.
std::int64_t batches_bytes(const BatchesShape& shape, int device, int data_device);

// The path that searches a small batch on a CPU, or "": that of search(). A tree's boxes pay there
// long before it makes one by itself, which it gives up where queries look at a tenth of the
// points: of few points all do.
const char* batch_path(const metric::Traits& traits, const Batch& batch, std::int64_t d,
                       std::int64_t k);

// Whether a batch of so many pairs is a task of one thread, or searched by all threads.
bool is_task(double pairs, double all_pairs, int threads);

}  // namespace kith::planner
