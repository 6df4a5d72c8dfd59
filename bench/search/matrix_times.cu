// Times of distance kernels between two events; see matrix_times.h.
#include "search/matrix_times.h"

#include <cuda_runtime.h>

#include "cuda_timing.h"
#include "device_memory.h"
#include "gpu/filter/levels.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded.h"

namespace kith::bench {

namespace {

// Independent values are as Gaussian, or uniform, in panels as in rows.
std::shared_ptr<void> words(int device, std::int64_t rows, std::int64_t d, const Recipe& recipe) {
    const std::int64_t whole = gpu::whole_tiles(rows);
    std::shared_ptr<void> memory = device_array(device, static_cast<std::size_t>(whole * d) * sizeof(float));
    fill_on_device(device, memory.get(), ElementType::f32, whole, d, recipe);
    return memory;
}

std::shared_ptr<void> zeros(int device, std::int64_t bytes) {
    std::shared_ptr<void> memory = device_array(device, static_cast<std::size_t>(bytes));
    check(cudaMemset(memory.get(), 0, static_cast<std::size_t>(bytes)), "cudaMemset");
    return memory;
}

}  // namespace

std::vector<double> matrix_seconds(int device, const std::string& kernel, exact::Step step, Data data,
                                   const MatrixShape& shape, const MatrixRuns& runs) {
    const auto [n, q, d] = shape;
    check(cudaSetDevice(device), "cudaSetDevice");
    const auto points = words(device, n, d, {.data = data, .seed = points_seed}),
               queries = words(device, q, d, {.data = data, .seed = queries_seed}),
               half_norm = zeros(device, gpu::whole_tiles(n) * 4), error = zeros(device, gpu::whole_tiles(n + q) * 4),
               unfit = zeros(device, q), values = device_array(device, static_cast<std::size_t>(n * q) * sizeof(float));
    const auto floats = [](const std::shared_ptr<void>& memory) { return static_cast<float*>(memory.get()); };
    const gpu::DistanceJob job{.step = step,
                               .queries = floats(queries),
                               .points = floats(points),
                               .half_norm = floats(half_norm),
                               .width = d,
                               .q = q,
                               .n = n,
                               .values = floats(values)};
    const gpu::DirectSides sides{.queries = job.queries,
                                 .points = job.points,
                                 .width = d,
                                 .q = q,
                                 .n = n,
                                 .half_norm = job.half_norm,
                                 .point_error = floats(error),
                                 .query_error = floats(error),
                                 .unfit = static_cast<std::uint8_t*>(unfit.get())};
    const gpu::DistanceKernel* const found = gpu::find_distance_kernel(kernel);
    const auto run = [&] {
        gpu::DistanceJob now = job;
        gpu::ExpandedTerms terms;
        if (found && found->expanded()) {
            terms = gpu::expanded_terms(sides, nullptr);
            now.half_norm = terms.half_norm.get();
            now.query_square = terms.query_square.get();
        }
        gpu::distance_matrix(kernel, now);
    };
    for (int i = 0; i < runs.warm_up; ++i) run();
    check(cudaDeviceSynchronize(), "distance kernel");
    return event_seconds(runs.counted, run);
}

}  // namespace kith::bench
