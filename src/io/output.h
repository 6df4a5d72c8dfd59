// A file being written: under a temporary name until it is complete, plain or gzipped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/format.h"

namespace kith::io {

// Owns the temporary name: commit() renames it to the final one, the destructor without commit() removes it.
class PendingFile {
public:
    // Creates the temporary file. Throws bad_file, also where `file` exists and is not a regular file.
    PendingFile(const std::string& file, const std::string& dataset);
    ~PendingFile();
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const Target& target() const { return target_; }
    void commit();

private:
    Target target_;
    std::string destination_;  // target_.file with links resolved, so that a link stays a link
    bool committed_ = false;
};

class Output {
public:
    virtual ~Output() = default;
    virtual void write(const void* bytes, std::int64_t count) = 0;
    virtual void finish() = 0;
};

// Gzips where target.file ends in ".gz".
std::unique_ptr<Output> open_output(const Target& target);

}  // namespace kith::io
