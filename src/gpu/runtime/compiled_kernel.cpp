// One library per text and device.
#include "gpu/runtime/compiled_kernel.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/nvrtc.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

struct Libraries {
    std::mutex mutex;
    std::map<std::tuple<int, bool, std::string>, cudaLibrary_t> all;
};
constinit machine::Lasting<Libraries> libraries;

}  // namespace

cudaKernel_t compiled_kernel(const std::string& text, const char* name, bool fuse) {
    const int device = current_device();
    const std::lock_guard lock(libraries.get().mutex);
    cudaLibrary_t& library = libraries.get().all[{device, fuse, text}];
    if (!library) {
        const std::vector<char> image =
            compile_cuda(text, device_attributes(device).capability, fuse);
        check(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cudaLibraryLoadData");
    }
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, name), "cudaLibraryGetKernel");
    return kernel;
}

}  // namespace kith::gpu
