// A file being written: under a temporary name until it is complete, plain or gzipped.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/format.h"
#include "io/temporary.h"
#include "kith/output.h"

namespace kith::io {

// `file` with links followed, also the last one where it leads nowhere yet.
std::string resolved(const std::string& file);

// Owns the temporary file, open from construction on: commit() renames it, the destructor without
// commit() removes it.
class PendingFile {
public:
    // Throws bad_file where `file` could not be written or renamed to, such as a directory or a
    // device.
    explicit PendingFile(const std::string& file,
                         OutputSet::Links links = OutputSet::Links::follow);
    ~PendingFile();
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& file() const { return file_; }  // for messages
    const std::string& temporary() const { return temporary_; }
    int descriptor() const { return descriptor_; }

    // Whether a file of that name is there that is not empty.
    bool adds() const { return old_ && old_->st_size > 0; }
    // Copies that file into the temporary one; from now on commit() refuses to replace it if it has
    // changed.
    void copy_old(const std::function<bool()>& keep_going);

    void sync();    // what was written is on the disk
    void commit();  // after sync()

private:
    void create_temporary();
    void keep_mode() const noexcept;

    std::string file_;
    std::string destination_;  // file_; where links are followed, with links resolved, so that a
                               // link stays a link
    std::string temporary_;
    std::optional<TemporaryName> name_;
    std::optional<struct stat> old_;  // the file of that name
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
// Gzips where the file's name ends in ".gz".
std::unique_ptr<Output> open_output(const Target& target);

}  // namespace kith::io
