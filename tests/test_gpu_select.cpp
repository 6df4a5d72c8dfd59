// select() on CUDA with every selector, from host and device memory.
#include <cuda_runtime.h>

#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "select_cases.h"

namespace {

kith::Options on_gpu(const std::string& selector = "") {
    kith::Options options;
    options.device = "cuda";
    options.selector = selector;
    return options;
}

TEST(GpuSelect, EveryKind) {
    select_cases::every_kind(on_gpu());
}
TEST(GpuSelect, EveryK) {
    select_cases::every_k(on_gpu());
}

TEST(GpuSelect, EverySelector) {
    for (const std::string& selector : kith::gpu::selector_names()) {
        SCOPED_TRACE(selector);
        select_cases::every_kind(on_gpu(selector));
        select_cases::every_k(on_gpu(selector));
    }
}

TEST(GpuSelect, DeviceMemoryAndStream) {
    const gpu_arrays::Stream stream;
    for (const auto type : {kith::ElementType::f32, kith::ElementType::f64}) {
        for (const auto shape : arrays::shapes) {
            const auto all = select_cases::values("ties", 50, 3000, 4);
            const auto matrix = gpu_arrays::on_device(arrays::make(all, 50, 3000, type, shape));
            kith::Options options = on_gpu();
            options.stream = stream.get();
            const gpu_arrays::Buffer<std::int64_t> ids(50 * 64);
            const gpu_arrays::Buffer<double> values64(50 * 64);
            const gpu_arrays::Buffer<float> values(50 * 64);
            const bool f64 = type == kith::ElementType::f64;
            kith::Neighbors got;
            got.report = kith::select_into(
                matrix.view, 64, options,
                {ids.data(), f64 ? static_cast<void*>(values64.data()) : values.data(), matrix.view.device});
            got.queries = 50;
            got.k = 64;
            got.ids = ids.host();
            if (f64) got.distances64 = values64.host();
            else got.distances = values.host();
            select_cases::check(all, 3000, got, f64, options, kith::name(type));
        }
    }
}

}  // namespace
