// See spool.h.
#include "io/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "io/errors.h"

namespace kith::io {

Spool::Spool(const std::string& beside) : beside_(beside) {
    std::string name = (std::filesystem::path(beside).parent_path() / ".kith-rows-XXXXXX").string();
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) fail("rows that wait cannot be written beside it");
    unlink(name.c_str());
}

Spool::~Spool() {
    close(file_);
}

void Spool::write(const void* bytes, std::int64_t count) {
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        const ssize_t done = ::write(file_, from, static_cast<std::size_t>(count));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail("rows that wait cannot be written");
        from += done;
        count -= done;
        size_ += done;
    }
}

void Spool::read(std::int64_t at, void* bytes, std::int64_t count) const {
    char* to = static_cast<char*>(bytes);
    while (count > 0) {
        const ssize_t done = pread(file_, to, static_cast<std::size_t>(count), at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail("rows that waited cannot be read back");
        to += done;
        at += done;
        count -= done;
    }
}

void Spool::fail(const char* what) const {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}: {}", beside_, what, std::strerror(errno)));
}

}  // namespace kith::io
