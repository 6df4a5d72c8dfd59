// Standard output and error, in whatever state they were handed to us.
#include "say.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace kith::cli {

void claim_standard_files() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest free number is this one. Open the wrong way round, reading and writing fail as if it were closed.
        (void)open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void say_text(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(put));
    }
}

std::string printable(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n' || c == '\t') line += ' ';
        else if (byte < 0x20 || byte == 0x7f) line += fmt::format("\\x{:02x}", byte);
        else line += c;
    }
    return line;
}

bool printed() {
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace kith::cli
