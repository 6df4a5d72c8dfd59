// dlopen and dlsym; see library.h.
#include "gpu/runtime/library.h"

#include <dlfcn.h>

#include <utility>

namespace kith::gpu {

Library::Library(std::string name, const std::string& stem) : name_(std::move(name)) {
    const std::string file = "lib" + stem + ".so";
    for (const std::string folder : {"", KITH_CUDA_LIBRARIES "/", "/usr/local/cuda/lib64/"})
        for (const std::string version : {".13", ".12", ""})
            if (!handle_)
                handle_ = dlopen((folder + file + version).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) absence_ = name_ + " is not found (" + file + ".13, .12)";
}

void* Library::find(const char* symbol) {
    void* const found = handle_ ? dlsym(handle_, symbol) : nullptr;
    if (!found && absence_.empty()) absence_ = name_ + " has no " + symbol;
    return found;
}

}  // namespace kith::gpu
