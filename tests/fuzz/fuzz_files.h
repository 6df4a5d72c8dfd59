// Files that the fuzzers hand to what reads files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "kith/error.h"

namespace kith_fuzz {

namespace fs = std::filesystem;

// Where the inputs lie while they are read.
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "kith-fuzz-XXXXXX").string();
        if (!::mkdtemp(name.data())) std::abort();
        name_ = name;
    }
    ~Folder() { fs::remove_all(name_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return name_; }
    std::string file(const std::string& name) const { return name_ + "/" + name; }

private:
    std::string name_;
};

// A file in memory, under a name on the disk.
class MemoryFile {
public:
    explicit MemoryFile(std::string path) : fd_(::memfd_create("input", MFD_CLOEXEC)), path_(std::move(path)) {
        fs::create_symlink("/proc/self/fd/" + std::to_string(fd_), path_);
    }
    void store(const void* data, std::size_t size) const {
        const auto length = static_cast<off_t>(size);
        if (::ftruncate(fd_, length) != 0 || ::pwrite(fd_, data, size, 0) != length) std::abort();
    }
    const std::string& path() const { return path_; }

private:
    int fd_;
    std::string path_;
};

// Anything but kith::Error is a finding.
template <class Act>
void tolerate_errors(Act act) {
    try {
        act();
    } catch (const kith::Error&) {
    }
}

}  // namespace kith_fuzz
