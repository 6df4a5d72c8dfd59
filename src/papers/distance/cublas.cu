// The expansion |q|^2 + |x|^2 - 2 <q, x> by cuBLAS (Hanak 2023, 3.3.1): products, then a kernel
// that adds the norms, which another has computed (expanded.h). Squares alone; not within the
// direct filter's bound, but within one of its own.
//
// The products are of panels: 128 points by 128 queries, all panels of points for one of queries at
// a time. norms: a block owns 1,024 values of a query.
#include <algorithm>
#include <vector>

#include "gpu/filter/direct.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "kith/error.h"
#include "papers/distance/cublas.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded_bound.h"

namespace kith::gpu {

namespace {

constexpr int per_thread = 4, block_values = per_thread * item_threads;
// Panels of points in a call.
constexpr std::int64_t most_panels = std::int64_t{1} << 15;

__global__ void __launch_bounds__(item_threads) norms_kernel(DistanceJob job) {
    const auto across = static_cast<unsigned>((job.n + block_values - 1) / block_values);
    const std::int64_t query = blockIdx.x / across,
                       first = std::int64_t{blockIdx.x % across} * block_values;
    const float square = job.query_square[job.first_query + query];
    float* const values = job.values + query * job.n;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const std::int64_t point = first + i * item_threads + threadIdx.x;
        if (point < job.n)
            values[point] = distance::expanded_value(values[point], job.half_norm[point], square);
    }
}

}  // namespace

void cublas_distances(const DistanceJob& job) {
    if (job.step != exact::Step::squares || !job.query_square)
        throw Error(ErrorCode::invalid_argument,
                    "distances: cublas serves squares, with the norms of both sides");
    constexpr std::int64_t panel = filter_tile_queries;
    std::vector<ProductsF32> products;
    for (std::int64_t query = 0; query < job.q;) {
        const std::int64_t row = (job.first_query + query) % panel,
                           queries = std::min(panel - row, job.q - query);
        ProductsF32 of{.rows = panel,
                       .columns = queries,
                       .inner = job.width,
                       .alpha = -2,
                       .b = job.queries + direct_place(job.first_query + query, 0, job.width),
                       .a_column = panel,
                       .a_next = panel * job.width,
                       .b_column = panel,
                       .c_column = job.n,
                       .c_next = panel};
        for (std::int64_t first = 0; first < job.n; first += of.rows * of.count) {
            const std::int64_t whole = (job.n - first) / panel;
            of.rows = whole > 0 ? panel : job.n - first;
            of.count = std::clamp<std::int64_t>(whole, 1, most_panels);
            of.a = job.points + direct_place(first, 0, job.width);
            of.c = job.values + query * job.n + first;
            products.push_back(of);
        }
        query += queries;
    }
    products_f32(products, expanded_workspace_bytes, job.stream);
    const std::int64_t blocks = (job.n + block_values - 1) / block_values * job.q;
    norms_kernel<<<static_cast<unsigned>(blocks), item_threads, 0, job.stream>>>(job);
    check_launch("cublas_distances");
}

}  // namespace kith::gpu
