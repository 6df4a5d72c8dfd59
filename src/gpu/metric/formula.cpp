// Canonical distances of a formula: kernels per program, compiled at run time. Multiply-adds are
// not fused, so that they give the bits of the CPU.
#include "gpu/metric/formula.h"

#include "gpu/metric/formula_text.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/compiled_kernel.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// As the kernel's text has it.
struct StoreKeys {
    std::uint64_t* keys;
    std::int64_t ld;
    const std::uint8_t *query_nan, *point_nan;
    const std::int64_t* self;
    std::int64_t first_point;
};
struct RefineRows {
    const void* data;
    std::int64_t row_stride, col_stride;
    const std::uint8_t* nan;
    explicit RefineRows(const PreparedRows& rows)
        : data(rows.rows.data),
          row_stride(rows.rows.row_stride),
          col_stride(rows.rows.col_stride),
          nan(rows.nan) {}
};

}  // namespace

void formula_scan(const formula::Program& program, double start, const ScanTile& tile,
                  std::int64_t d, cudaStream_t stream) {
    const FormulaTile shape = tile_of(program, tile.q);
    const cudaKernel_t kernel = compiled_kernel(kernel_text(step_text(program), shape), "formula");
    ScanTile t = tile;
    StoreKeys store{tile.keys,      tile.ld,   tile.query_nan,
                    tile.point_nan, tile.self, tile.first_point};
    void* arguments[] = {&start, &t.queries, &t.q, &t.points, &t.n, &d, &store};
    const unsigned rows = blocks_for(tile.q, shape.queries());
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                           dim3(blocks_for(tile.n, shape.points()), rows < 65535 ? rows : 65535),
                           dim3(item_threads), arguments, 0, stream),
          "formula");
}

void formula_refine(const formula::Program& program, double start, const RefineTask& task,
                    std::int64_t d, cudaStream_t stream) {
    const std::int64_t q = task.queries.rows.count;
    const cudaKernel_t kernel = compiled_kernel(
        refine_text(step_text(program), task.queries.rows.type, task.points.rows.type), "refine");
    RefineRows queries(task.queries), points(task.points);
    RefineTask t = task;
    void* arguments[] = {&start, &queries, &points, &t.ids, &t.counts, &t.capacity, &t.keys, &d};
    // Candidates of a typical query are few.
    constexpr unsigned threads = 64;
    const dim3 grid(static_cast<unsigned>(q), q >= 512 ? 1 : q >= 64 ? 4 : 32);
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(threads), arguments, 0,
                           stream),
          "refine");
}

}  // namespace kith::gpu
