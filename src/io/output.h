// A file being written: under a temporary name until it is complete, plain or gzipped.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/files/temporary.h"
#include "io/format.h"
#include "kith/output.h"

namespace kith::io {

// `file` with links resolved, including a dangling last one.
std::string resolved(const std::string& file);

// Owns the temporary file, which is open from construction on. commit() renames it; without
// commit() the destructor removes it.
class PendingFile {
public:
    // Throws bad_file if `file` cannot be written or replaced, such as a directory or a device.
    explicit PendingFile(const std::string& file,
                         OutputSet::Links links = OutputSet::Links::follow);
    ~PendingFile();
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& file() const { return file_; }  // for messages
    const std::string& temporary() const { return temporary_; }
    int descriptor() const { return descriptor_; }

    // True if a non-empty file of that name exists.
    bool adds() const { return old_ && old_->st_size > 0; }
    // Copies that file into the temporary one; from then on commit() refuses to replace it if it
    // has changed.
    void copy_old(const std::function<bool()>& keep_going);

    void sync();    // flushes written data to the disk
    void commit();  // after sync()

private:
    void create_temporary();
    void keep_mode() const noexcept;

    std::string file_;
    // file_, with links resolved if they are followed, so that a link stays a link
    std::string destination_;
    std::string temporary_;
    std::optional<TemporaryName> name_;
    std::optional<struct stat> old_;  // the existing file of that name
    bool copied_ = false;
    bool committed_ = false;
    int descriptor_ = -1;
};

class Output {
public:
    virtual ~Output() = default;
    virtual void write(const void* bytes, std::int64_t count) = 0;
    virtual void finish() = 0;
};

std::unique_ptr<Output> open_plain(PendingFile& file);
// Compresses if the file's name ends in ".gz".
std::unique_ptr<Output> open_output(const Target& target);

}  // namespace kith::io
