// Compiling formulas: one kernel per program, shape of tiles and device, kept for the life of the process.
// Multiply-adds are not fused, so that it gives the bits of the CPU.
#include "gpu/metric/formula.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/metric/formula_text.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/nvrtc.h"

namespace kith::gpu {

namespace {

cudaKernel_t load(const std::vector<char>& image) {
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, "formula"), "cudaLibraryGetKernel");
    return kernel;
}

cudaKernel_t kernel_of(const formula::Program& program, const FormulaTile& tile) {
    static std::map<std::pair<int, std::string>, cudaKernel_t> kernels;
    static std::mutex mutex;
    const int device = current_device();
    const std::string text = kernel_text(step_text(program), tile);
    const std::lock_guard lock(mutex);
    cudaKernel_t& kernel = kernels[{device, text}];
    if (!kernel) kernel = load(compile_cuda(text, device_attributes(device).capability));
    return kernel;
}

// As the kernel's text has it.
struct StoreKeys {
    std::uint64_t* keys;
    std::int64_t ld;
    const std::uint8_t *query_nan, *point_nan;
    const std::int64_t* self;
    std::int64_t first_point;
};

}  // namespace

void formula_scan(const formula::Program& program, double start, const ScanTile& tile, std::int64_t d,
                  cudaStream_t stream) {
    const FormulaTile shape = tile_of(program, tile.q);
    const cudaKernel_t kernel = kernel_of(program, shape);
    ScanTile t = tile;
    StoreKeys store{tile.keys, tile.ld, tile.query_nan, tile.point_nan, tile.self, tile.first_point};
    void* arguments[] = {&start, &t.queries, &t.q, &t.points, &t.n, &d, &store};
    const unsigned rows = blocks_for(tile.q, shape.queries());
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                           dim3(blocks_for(tile.n, shape.points()), rows < 65535 ? rows : 65535), dim3(item_threads),
                           arguments, 0, stream),
          "formula");
}

}  // namespace kith::gpu
