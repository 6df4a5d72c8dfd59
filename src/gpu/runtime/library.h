// A library of the CUDA toolkit by dlopen, looked for when something first wants it: only its
// header is needed to build.
#pragma once

#include <string>
#include <type_traits>

namespace kith::gpu {

// Never unloaded.
class Library {
public:
    // `stem`: of lib<stem>.so.13, .12 or without a version; as the system finds libraries, then
    // where the CUDA toolkit of the build, or any, usually lies. `name`: as people know it.
    Library(std::string name, const std::string& stem);

    template <class Function>
    void load(Function*& function, const char* symbol) {
        function = reinterpret_cast<Function*>(find(symbol));
    }
    // "" where the library and all symbols so far were found, else what is missing.
    const std::string& absence() const { return absence_; }

private:
    void* find(const char* symbol);
    std::string name_, absence_;
    void* handle_ = nullptr;
};

}  // namespace kith::gpu
