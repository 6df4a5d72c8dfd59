// NVRTC: compiled formulas.
#include "gpu/runtime/nvrtc.h"

#include <nvrtc.h>

#include "gpu/backend.h"
#include "gpu/runtime/library.h"
#include "kith/error.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

// The functions in use, or why there are none.
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
    Library library{"NVRTC", "nvrtc"};

    Nvrtc() {
        library.load(version, "nvrtcVersion");
        library.load(error_string, "nvrtcGetErrorString");
        library.load(create, "nvrtcCreateProgram");
        library.load(destroy, "nvrtcDestroyProgram");
        library.load(compile, "nvrtcCompileProgram");
        library.load(log_size, "nvrtcGetProgramLogSize");
        library.load(log, "nvrtcGetProgramLog");
        library.load(cubin_size, "nvrtcGetCUBINSize");
        library.load(cubin, "nvrtcGetCUBIN");
    }
};

constinit machine::Lasting<const Nvrtc> loaded;

const Nvrtc& nvrtc() {
    return loaded.get();
}

void check_nvrtc(nvrtcResult status, const char* what) {
    if (status != NVRTC_SUCCESS)
        throw Error(ErrorCode::device,
                    std::string("device: ") + what + ": " + nvrtc().error_string(status));
}

class Program {
public:
    explicit Program(const std::string& text) {
        check_nvrtc(nvrtc().create(&program_, text.c_str(), "formula.cu", 0, nullptr, nullptr),
                    "nvrtcCreateProgram");
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
    if (!nvrtc().library.absence().empty()) return "none: " + nvrtc().library.absence();
    int major = 0, minor = 0;
    nvrtc().version(&major, &minor);
    return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

std::vector<char> compile_cuda(const std::string& text, int capability, bool fuse) {
    if (!nvrtc().library.absence().empty())
        throw Error(ErrorCode::device,
                    "device: " + nvrtc().library.absence() +
                        "; a formula on a GPU needs it, expected device 'cpu' without it");
    const Program program(text);
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
    // Headers' texts have functions of the host, too.
    const char* options[] = {
        architecture.c_str(), "--std=c++17",      fuse ? "--fmad=true" : "--fmad=false",
        "--prec-div=true",    "--prec-sqrt=true", "--device-as-default-execution-space"};
    if (nvrtc().compile(program.get(), 6, options) != NVRTC_SUCCESS) {
        std::size_t size = 0;
        check_nvrtc(nvrtc().log_size(program.get(), &size), "nvrtcGetProgramLogSize");
        std::string log(size, '\0');
        check_nvrtc(nvrtc().log(program.get(), log.data()), "nvrtcGetProgramLog");
        throw Error(ErrorCode::device,
                    std::string("device: the formula does not compile: ") + log.c_str());
    }
    std::size_t size = 0;
    check_nvrtc(nvrtc().cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
    std::vector<char> image(size);
    check_nvrtc(nvrtc().cubin(program.get(), image.data()), "nvrtcGetCUBIN");
    return image;
}

}  // namespace kith::gpu
