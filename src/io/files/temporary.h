// Registers names of temporary files for a signal handler that must remove them.
#pragma once

#include <string>

namespace kith::io {

// During an object's life remove_temporary_files() removes the file.
class TemporaryName {
public:
    explicit TemporaryName(const std::string& path);
    ~TemporaryName();
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;

    struct Slot;

private:
    Slot* slot_;
    char* name_;  // in the slot, until a signal handler takes it
};

}  // namespace kith::io
