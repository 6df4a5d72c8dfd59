// Copies standard input to a temporary file: formats are read from more than one place of it, and
// their sizes checked.
#include "io/standard_input.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "io/errors.h"
#include "io/input.h"
#include "io/process_mutex.h"
#include "kith/memory.h"

namespace kith::io {
namespace {

constexpr int poll_milliseconds = 100;
constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::int64_t blocks_per_check = 64;

int temporary_file(std::string& folder) {
    std::error_code failed;
    folder = std::filesystem::temp_directory_path(failed).string();
    if (failed)
        bad_file("standard input", fmt::format("cannot be kept in a temporary folder (TMPDIR): {}",
                                               failed.message()));
    std::string name = folder + "/kith-input-XXXXXX";
    const int fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0)
        bad_file("standard input",
                 fmt::format("cannot be kept in {}: {}", folder, std::strerror(errno)));
    ::unlink(name.c_str());
    return fd;
}

std::size_t read_some(std::vector<char>& block, const Proceed& proceed) {
    for (;;) {
        require_proceed(proceed);
        pollfd one{STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&one, 1, poll_milliseconds);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;  // a read would wait, whatever the signal was
        const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR && errno != EAGAIN) bad_file("standard input", std::strerror(errno));
    }
}

void copy_to(int fd, const std::string& folder, const Proceed& proceed) {
    struct statfs where {};
    const bool in_memory = ::fstatfs(fd, &where) == 0 && where.f_type == TMPFS_MAGIC;
    std::vector<char> block(block_bytes);
    for (std::int64_t count = 0; const std::size_t got = read_some(block, proceed); ++count) {
        if (in_memory && count % blocks_per_check == 0) {
            require_memory(blocks_per_check * static_cast<std::int64_t>(block_bytes),
                           fmt::format("more of standard input, kept in {},", folder));
        }
        for (std::size_t put = 0; put < got;) {
            const ssize_t some = ::write(fd, block.data() + put, got - put);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0)
                bad_file("standard input",
                         fmt::format("cannot be kept in {}: {}", folder, std::strerror(errno)));
            put += static_cast<std::size_t>(some);
        }
    }
}

// What is left of standard input once it has been read.
struct StandardInput {
    ProcessMutex mutex;  // of the others
    int copy = -1;
    bool begun = false;
};
constinit StandardInput input;

}  // namespace

int copy_of_standard_input(const Proceed& proceed) {
    const ProcessLock lock(input.mutex, "standard input");
    if (input.copy >= 0) return input.copy;
    if (std::exchange(input.begun, true))
        bad_file("standard input", "was not read to its end before");
    std::string folder;
    const int fd = temporary_file(folder);
    try {
        copy_to(fd, folder, proceed);
    } catch (...) {
        ::close(fd);
        throw;
    }
    return input.copy = fd;
}

bool is_standard_input(std::string_view file) {
    return file == "-" || file == "/dev/stdin";
}

std::string name_in_messages(const std::string& file) {
    return is_standard_input(file) ? "standard input" : file;
}

}  // namespace kith::io
