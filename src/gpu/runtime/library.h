// A library of the CUDA toolkit, opened by dlopen at its first use: a build needs only its header.
#pragma once

#include <string>
#include <type_traits>

namespace kith::gpu {

// Never unloaded.
class Library {
public:
    // Looks for lib<stem>.so.13, .12 or without a version: on the system's search path, then in the
    // usual folders of the CUDA toolkit of the build, or of any. `name`: its common name, for
    // messages.
    Library(std::string name, const std::string& stem);

    template <class Function>
    void load(Function*& function, const char* symbol) {
        function = reinterpret_cast<Function*>(find(symbol));
    }
    // "" if the library and all symbols so far were found, else what is missing.
    const std::string& absence() const { return absence_; }

private:
    void* find(const char* symbol);
    std::string name_, absence_;
    void* handle_ = nullptr;
};

}  // namespace kith::gpu
