// Times of distance kernels between two events; see matrix_times.h.
#include "search/matrix_times.h"

#include <cuda_runtime.h>

#include "cuda_timing.h"
#include "device_memory.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/levels.h"
#include "gpu/primitives/rows.h"
#include "gpu/runtime/device.h"
#include "gpu/select/selector.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded.h"
#include "papers/fused/fused.h"
#include "timing.h"

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

// A thread per word: rows into panels (gpu::direct_place), the words after the last row 0.
__global__ void panels_kernel(const float* rows, std::int64_t count, std::int64_t whole, std::int64_t d, float* words) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= whole * d) return;
    const std::int64_t row = i / d, word = i % d;
    words[gpu::direct_place(row, word, d)] = row < count ? rows[i] : 0;
}

std::shared_ptr<void> panels(int device, const float* host, std::int64_t rows, std::int64_t d) {
    const std::int64_t whole = gpu::whole_tiles(rows);
    const auto bytes = static_cast<std::size_t>(rows * d) * sizeof(float);
    const std::shared_ptr<void> from = device_array(device, bytes),
                                to = device_array(device, static_cast<std::size_t>(whole * d) * sizeof(float));
    check(cudaMemcpy(from.get(), host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    constexpr int threads = 256;
    panels_kernel<<<static_cast<unsigned>((whole * d + threads - 1) / threads), threads>>>(
        static_cast<const float*>(from.get()), rows, whole, d, static_cast<float*>(to.get()));
    check(cudaDeviceSynchronize(), "panels");
    return to;
}

}  // namespace

GarciaSteps garcia_steps(const MatrixShape& shape, std::int64_t k, const float* points, const float* queries,
                         const std::string& selector, std::int64_t* ids) {
    const std::int64_t n = shape.n, q = shape.q, d = shape.d;
    constexpr int device = 0;
    check(cudaSetDevice(device), "cudaSetDevice");
    GarciaSteps steps;
    std::shared_ptr<void> point_words, query_words;
    steps.copy = timed([&] {
        point_words = panels(device, points, n, d);
        query_words = panels(device, queries, q, d);
    });
    const auto half_norm = zeros(device, gpu::whole_tiles(n) * 4),
               matrix = device_array(device, static_cast<std::size_t>(n * q) * sizeof(float)),
               found = device_array(device, static_cast<std::size_t>(q * k) * sizeof(std::int64_t));
    steps.distance = event_seconds(1, [&] {
                         gpu::distance_matrix("garcia", {.step = exact::Step::squares,
                                                         .queries = static_cast<float*>(query_words.get()),
                                                         .points = static_cast<float*>(point_words.get()),
                                                         .half_norm = static_cast<float*>(half_norm.get()),
                                                         .width = d,
                                                         .q = q,
                                                         .n = n,
                                                         .values = static_cast<float*>(matrix.get()),
                                                         .by_column = true});
                     }).front();
    steps.sort = event_seconds(1, [&] {
                     gpu::SelectJob job{.rows = q, .n = n, .k = k};
                     job.ids = static_cast<std::int64_t*>(found.get());
                     gpu::run_selector(selector, {matrix.get(), q, 1, q, ElementType::f32}, job);
                 }).front();
    steps.copy += timed([&] {
        check(cudaMemcpy(ids, found.get(), static_cast<std::size_t>(q * k) * sizeof(std::int64_t),
                         cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    });
    return steps;
}

std::vector<double> fused_seconds(int device, const std::string& kernel, Data data, const MatrixShape& shape,
                                  std::int64_t k, const MatrixRuns& runs) {
    const gpu::FusedKernel* const found = gpu::find_fused_kernel(kernel);
    std::int64_t capacity = 32;
    while (capacity < k) capacity *= 2;
    if (!found || capacity > found->most_listed) return {};
    const std::int64_t n = shape.n, q = shape.q, d = shape.d;
    check(cudaSetDevice(device), "cudaSetDevice");
    const auto points = words(device, n, d, {.data = data, .seed = points_seed}),
               queries = words(device, q, d, {.data = data, .seed = queries_seed}),
               half_norm = zeros(device, gpu::whole_tiles(n) * 4);
    const std::int64_t most = gpu::fused_most_lists(*found, q, n, gpu::device_attributes().multiprocessors);
    const auto run = [&] {
        gpu::fused_lists(kernel,
                         {.step = exact::Step::squares,
                          .queries = static_cast<float*>(queries.get()),
                          .points = static_cast<float*>(points.get()),
                          .half_norm = static_cast<float*>(half_norm.get()),
                          .width = d,
                          .q = q,
                          .n = n,
                          .capacity = capacity,
                          .listed = std::min(n, k)},
                         most);
    };
    for (int i = 0; i < runs.warm_up; ++i) run();
    check(cudaDeviceSynchronize(), "fused kernel");
    return event_seconds(runs.counted, run);
}

std::vector<std::vector<double>> selection_seconds(int device, Data data, const MatrixShape& shape, std::int64_t k,
                                                   const std::vector<std::string>& selectors, const MatrixRuns& runs) {
    const std::int64_t n = shape.n, q = shape.q, d = shape.d;
    check(cudaSetDevice(device), "cudaSetDevice");
    const auto points = words(device, n, d, {.data = data, .seed = points_seed}),
               queries = words(device, q, d, {.data = data, .seed = queries_seed}),
               half_norm = zeros(device, gpu::whole_tiles(n) * 4),
               values = device_array(device, static_cast<std::size_t>(n * q) * sizeof(float)),
               ids = device_array(device, static_cast<std::size_t>(q * k) * sizeof(std::int64_t)),
               out = device_array(device, static_cast<std::size_t>(q * k) * sizeof(float));
    gpu::distance_matrix("register-tiled", {.step = exact::Step::squares,
                                            .queries = static_cast<float*>(queries.get()),
                                            .points = static_cast<float*>(points.get()),
                                            .half_norm = static_cast<float*>(half_norm.get()),
                                            .width = d,
                                            .q = q,
                                            .n = n,
                                            .values = static_cast<float*>(values.get())});
    check(cudaDeviceSynchronize(), "distance kernel");
    std::vector<std::vector<double>> seconds;
    for (const std::string& name : selectors) {
        const gpu::Selector* const found = gpu::find_selector(name);
        if (!found || k < found->min_k || (found->max_k > 0 && k > found->max_k)) {
            seconds.emplace_back();
            continue;
        }
        const auto run = [&] {
            gpu::SelectJob job{.rows = q, .n = n, .k = k, .sorted = false};
            job.ids = static_cast<std::int64_t*>(ids.get());
            job.out = out.get();
            gpu::run_selector(name, {values.get(), q, n, 1, ElementType::f32}, job);
        };
        for (int i = 0; i < runs.warm_up; ++i) run();
        check(cudaDeviceSynchronize(), "selector");
        seconds.push_back(event_seconds(runs.counted, run));
    }
    return seconds;
}

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
