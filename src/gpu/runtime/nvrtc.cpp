// NVRTC by dlopen: only its header is needed to build.
#include "gpu/runtime/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include "gpu/backend.h"
#include "kith/error.h"

namespace kith::gpu {

namespace {

// The functions in use, or why there are none. Never unloaded.
struct Nvrtc {
    decltype(&nvrtcVersion) version = nullptr;
    decltype(&nvrtcGetErrorString) error_string = nullptr;
    decltype(&nvrtcCreateProgram) create = nullptr;
    decltype(&nvrtcDestroyProgram) destroy = nullptr;
    decltype(&nvrtcCompileProgram) compile = nullptr;
    decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
    decltype(&nvrtcGetProgramLog) log = nullptr;
    decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
    decltype(&nvrtcGetCUBIN) cubin = nullptr;
    std::string absence;  // "" where all are found

    Nvrtc() {
        // By name, as the system finds libraries; then where the CUDA toolkit of the build, or any, usually lies.
        const std::string names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
        void* library = nullptr;
        for (const std::string folder : {"", KITH_CUDA_LIBRARIES "/", "/usr/local/cuda/lib64/"}) {
            for (const std::string& name : names) {
                if (!library) library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
            }
        }
        if (!library) {
            absence = "NVRTC is not found (libnvrtc.so.13, .12)";
            return;
        }
        const auto load = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (!function && absence.empty()) absence = std::string("NVRTC has no ") + name;
        };
        load(version, "nvrtcVersion");
        load(error_string, "nvrtcGetErrorString");
        load(create, "nvrtcCreateProgram");
        load(destroy, "nvrtcDestroyProgram");
        load(compile, "nvrtcCompileProgram");
        load(log_size, "nvrtcGetProgramLogSize");
        load(log, "nvrtcGetProgramLog");
        load(cubin_size, "nvrtcGetCUBINSize");
        load(cubin, "nvrtcGetCUBIN");
    }
};

const Nvrtc& nvrtc() {
    static const Nvrtc one;
    return one;
}

void check_nvrtc(nvrtcResult status, const char* what) {
    if (status != NVRTC_SUCCESS)
        throw Error(ErrorCode::device, std::string("device: ") + what + ": " + nvrtc().error_string(status));
}

class Program {
public:
    explicit Program(const std::string& text) {
        check_nvrtc(nvrtc().create(&program_, text.c_str(), "formula.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    }
    ~Program() { nvrtc().destroy(&program_); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    nvrtcProgram get() const { return program_; }

private:
    nvrtcProgram program_ = nullptr;
};

}  // namespace

std::string formula_compiler() {
    if (!nvrtc().absence.empty()) return "none: " + nvrtc().absence;
    int major = 0, minor = 0;
    nvrtc().version(&major, &minor);
    return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

std::vector<char> compile_cuda(const std::string& text, int capability, bool fuse) {
    if (!nvrtc().absence.empty())
        throw Error(ErrorCode::device,
                    "device: " + nvrtc().absence + "; a formula on a GPU needs it, expected device 'cpu' without it");
    const Program program(text);
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
    // Headers' texts have functions of the host, too.
    const char* options[] = {architecture.c_str(), "--std=c++17",      fuse ? "--fmad=true" : "--fmad=false",
                             "--prec-div=true",    "--prec-sqrt=true", "--device-as-default-execution-space"};
    if (nvrtc().compile(program.get(), 6, options) != NVRTC_SUCCESS) {
        std::size_t size = 0;
        check_nvrtc(nvrtc().log_size(program.get(), &size), "nvrtcGetProgramLogSize");
        std::string log(size, '\0');
        check_nvrtc(nvrtc().log(program.get(), log.data()), "nvrtcGetProgramLog");
        throw Error(ErrorCode::device, std::string("device: the formula does not compile: ") + log.c_str());
    }
    std::size_t size = 0;
    check_nvrtc(nvrtc().cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
    std::vector<char> image(size);
    check_nvrtc(nvrtc().cubin(program.get(), image.data()), "nvrtcGetCUBIN");
    return image;
}

}  // namespace kith::gpu
