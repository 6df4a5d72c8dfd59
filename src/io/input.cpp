// Reads files with pread.
#include "io/input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/errors.h"
#include "io/gzip.h"
#include "io/standard_input.h"
#include "kith/memory.h"
#include "machine/float_state.h"

namespace kith::io {
namespace {

std::int64_t time_of_change(const struct stat& status) {
    return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

class PlainInput final : public ByteInput {
public:
    explicit PlainInput(const Location& location) : ByteInput(location), file_(location) {
        size_ = file_.size();
    }

private:
    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) override {
        while (count > 0) {
            poll();
            const auto some = static_cast<std::size_t>(std::min(count, polled_bytes));
            const ssize_t got = ::pread(file_.descriptor(), out, some, offset);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                bad_bytes(path_, offset, fmt::format("{} more bytes", count), std::strerror(errno));
            if (got == 0)
                bad_bytes(path_, offset, fmt::format("{} more bytes", count),
                          "the end: the file has shrunk");
            offset += got;
            out += got;
            count -= got;
        }
        file_.require_unchanged();
    }

    OpenFile file_;
};

}  // namespace

void require_proceed(const Proceed& proceed) {
    if (proceed && !machine::for_caller(proceed)()) throw Error(ErrorCode::cancelled, "cancelled");
}

void ByteInput::read_at(std::int64_t offset, void* out, std::int64_t count) {
    std::int64_t end = 0;
    if (__builtin_add_overflow(offset, count, &end)) end = INT64_MAX;
    if (const std::int64_t size = size_within(end); end > size) {
        bad_bytes(path_, offset, fmt::format("{} bytes", count),
                  fmt::format("the end of the file at {}", size));
    }
    if (count > 0) fetch(offset, static_cast<std::byte*>(out), count);
}

void ByteInput::require_room(std::int64_t bytes, const std::string& what) const {
    if (held_) require_memory(bytes, what);
}

bool is_gzip_name(std::string_view path) {
    return path.ends_with(".gz");
}

OpenFile::OpenFile(const Location& location) : path_(name_in_messages(location.file)) {
    // A descriptor of its own, and so a place of its own, of the copy, which has no name.
    const std::string file =
        is_standard_input(location.file)
            ? fmt::format("/proc/self/fd/{}", copy_of_standard_input(location.proceed))
            : location.file;
    file_ = RegularFile(file, path_, "; give it as standard input, -");
    if (!file_.is_open())
        bad_file(path_, fmt::format("expected a readable file: {}", std::strerror(file_.error())));
}

void OpenFile::require_unchanged() const {
    struct stat status {};
    if (::fstat(file_.descriptor(), &status) != 0)
        bad_file(path_, fmt::format("cannot be examined: {}", std::strerror(errno)));
    if (status.st_size != size()) {
        bad_file(path_,
                 fmt::format(
                     "expected a file that stays as it is, found {} bytes where {} were at first",
                     static_cast<std::int64_t>(status.st_size), size()));
    }
    if (time_of_change(status) != file_.changed()) {
        bad_file(
            path_,
            "expected a file that stays as it is, found that it was written to while it was read");
    }
}

std::unique_ptr<ByteInput> open_bytes(const Location& location) {
    if (location.gzipped || is_gzip_name(location.file)) return open_gzip(location);
    return std::make_unique<PlainInput>(location);
}

std::unique_ptr<ByteInput> open_input(const Location& location) {
    if (!location.dataset.empty()) {
        const std::string file = name_in_messages(location.file);
        bad_argument(fmt::format("{}/{}: expected {} alone: this format has no named data sets",
                                 file, location.dataset, file));
    }
    return open_bytes(location);
}

}  // namespace kith::io
