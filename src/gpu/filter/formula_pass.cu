// Launches of formula_pass.h.
#include "gpu/filter/formula_pass.h"

#include <algorithm>

#include "gpu/filter/direct_tile.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/compiled_kernel.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

void formula_pass(const formula::Program& program, const FilterPass& pass, cudaStream_t stream) {
    const int blocks = direct::FloatStep::blocks * device_attributes().multiprocessors;
    direct::Schedule schedule = direct::make_schedule(pass, direct::tile, direct::slice, blocks);
    const auto* const kernel = reinterpret_cast<const void*>(
        compiled_kernel(filter_text(program), pass.all ? "filter_all" : "filter_lists", true));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               direct::shared_bytes),
          "cudaFuncSetAttribute");
    FilterPass p = pass;
    void* arguments[] = {&p, &schedule};
    check(cudaLaunchKernel(
              kernel,
              dim3(static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles))),
              dim3(direct::threads), arguments, direct::shared_bytes, stream),
          "direct filter");
}

}  // namespace kith::gpu
