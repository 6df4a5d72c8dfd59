// The files of an OutputSet, for the writers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_output.h"
#include "io/output.h"
#include "kith/output.h"

namespace kith {
namespace io {

// The target of a path, whatever its spelling: a file, or a name in a folder if no such file
// exists.
struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name;  // "" for an existing file
    bool known = false;
    bool operator==(const Identity&) const = default;
};
Identity identity_of(const std::string& file);

struct ReadFile {
    std::string what;
    std::string path;
    Identity identity;
    std::string dataset;
};

struct WrittenFile {
    Identity identity;
    std::unique_ptr<PendingFile> pending;
    std::unique_ptr<Hdf5Output> hdf5;  // closed before `pending` removes the file
};

struct Part {
    std::string what;
    std::string path;      // as passed to add()
    const Format* format;  // null: bytes
    Target target;
    bool written = false;
};

}  // namespace io

struct OutputSet::State {
    bool force;
    std::function<bool()> keep_going;
    std::vector<io::ReadFile> reads;
    std::vector<std::unique_ptr<io::WrittenFile>> files;
    std::vector<std::unique_ptr<io::Part>> parts;

    io::Part& add(const std::string& what, const std::string& path, const io::Location& location,
                  const io::Format* format, Links links = Links::follow);
    // Throws invalid_argument if no such path was added.
    io::Part& part(const std::string& path) const;
};

}  // namespace kith
