// The files of an OutputSet, as the writers see them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/hdf5_output.h"
#include "io/output.h"
#include "kith/output.h"

namespace kith {
namespace io {

// What a path leads to, whatever it is called: a file, or a name in a folder where there is no file
// yet.
struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name;  // "" of a file that is there
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
    std::string path;      // as it was added
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
    // Throws invalid_argument where none of that path was added.
    io::Part& part(const std::string& path) const;
};

}  // namespace kith
