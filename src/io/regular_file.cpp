// Opens regular files, and refuses what is none.
#include "io/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/errors.h"

namespace kith::io {
namespace {

constexpr std::int64_t call_limit = std::int64_t{1} << 30;

[[noreturn]] void refuse(const std::string& shown, mode_t mode, const char* remedy) {
    if (S_ISDIR(mode)) bad_file(shown, "expected a file, found a directory");
    const char* const kind = S_ISFIFO(mode) ? "pipe" : S_ISSOCK(mode) ? "socket" : "device";
    bad_file(shown, fmt::format("expected a regular file, found a {}{}", kind,
                                S_ISFIFO(mode) ? remedy : ""));
}

}  // namespace

RegularFile::RegularFile(const std::string& path, const std::string& shown, const char* remedy) {
    struct stat status {};
    // Opening some devices acts on them.
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        refuse(shown, status.st_mode, remedy);
    // O_NONBLOCK: nor is a pipe waited for that is there since.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
        error_ = errno;
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(descriptor_);
        refuse(shown, status.st_mode, remedy);
    }
    size_ = status.st_size;
    changed_ = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

RegularFile::~RegularFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      error_(other.error_),
      size_(other.size_),
      changed_(other.changed_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(error_, other.error_);
    std::swap(size_, other.size_);
    std::swap(changed_, other.changed_);
    return *this;
}

std::int64_t RegularFile::read(void* to, std::int64_t most, const std::string& shown) const {
    std::int64_t done = 0;
    while (done < most) {
        const auto some = static_cast<std::size_t>(std::min(most - done, call_limit));
        const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, some);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) bad_file(shown, fmt::format("cannot be read: {}", std::strerror(errno)));
        if (got == 0) break;
        done += got;
    }
    return done;
}

}  // namespace kith::io
