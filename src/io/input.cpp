// Reads files with pread, gzipped ones through zlib.
#include "io/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/errors.h"

namespace kith::io {
namespace {

// Linux transfers at most 2^31 - 4096 bytes a call, and zlib counts in 32 bits.
constexpr std::int64_t call_limit = std::int64_t{1} << 30;

class PlainInput final : public Input {
public:
    explicit PlainInput(const std::string& path) : Input(path), fd_(open_regular(path, size_)) {}
    ~PlainInput() override { ::close(fd_); }
    PlainInput(const PlainInput&) = delete;
    PlainInput& operator=(const PlainInput&) = delete;

private:
    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) override {
        while (count > 0) {
            const ssize_t got = ::pread(fd_, out, static_cast<std::size_t>(std::min(count, call_limit)), offset);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) bad_bytes(path_, offset, fmt::format("{} more bytes", count), std::strerror(errno));
            if (got == 0) bad_bytes(path_, offset, fmt::format("{} more bytes", count), "the end: the file has shrunk");
            offset += got;
            out += got;
            count -= got;
        }
    }

    int fd_;
};

// The counting pass keeps what it decompresses up to this size, so that a usual file is decompressed once.
constexpr std::size_t kept_limit = std::size_t{64} << 20;
constexpr std::size_t counting_step = std::size_t{1} << 18;

class GzipInput final : public Input {
public:
    explicit GzipInput(const std::string& path) : Input(path) {
        std::int64_t compressed = 0;
        const int fd = open_regular(path, compressed);
        file_.reset(gzdopen(fd, "rb"));
        if (!file_) {
            ::close(fd);
            bad_file(path, "cannot start decompression");
        }
        gzbuffer(file_.get(), 1 << 17);
        count_all();
    }

private:
    struct Close {
        void operator()(gzFile_s* file) const { gzclose(file); }
    };

    void count_all() {
        std::vector<std::byte> step(counting_step);
        bool keep = true;
        while (const std::int64_t got = gunzip(step.data(), static_cast<std::int64_t>(step.size()))) {
            if (gzdirect(file_.get())) bad_bytes(path_, 0, "gzip data (1f 8b), as the name ends in .gz", "other data");
            if (keep && kept_.size() + static_cast<std::size_t>(got) > kept_limit) {
                keep = false;
                kept_ = {};
            }
            if (keep) kept_.insert(kept_.end(), step.begin(), step.begin() + got);
            size_ += got;
        }
        position_ = size_;
        if (keep) file_.reset();
    }

    // Up to `count` bytes from the current place; fewer only at the end of a complete stream.
    std::int64_t gunzip(std::byte* out, std::int64_t count) {
        std::int64_t done = 0;
        while (done < count) {
            const int got = gzread(file_.get(), out + done, static_cast<unsigned>(std::min(count - done, call_limit)));
            int code = Z_OK;
            const char* what = gzerror(file_.get(), &code);
            // A stream that breaks off is reported as Z_BUF_ERROR beside the bytes before the break.
            if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
                bad_bytes(path_, gzoffset(file_.get()), "a complete gzip stream",
                          code == Z_BUF_ERROR ? "its end in the middle" : what);
            }
            if (got == 0) break;
            done += got;
        }
        return done;
    }

    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) override {
        if (!file_) {
            std::memcpy(out, kept_.data() + offset, static_cast<std::size_t>(count));
            return;
        }
        // zlib decompresses from the start again where the seek goes backwards.
        if (offset != position_ && gzseek(file_.get(), offset, SEEK_SET) != offset) {
            bad_bytes(path_, offset, "more decompressed data", "a broken gzip stream");
        }
        position_ = offset + gunzip(out, count);
        if (position_ != offset + count) bad_bytes(path_, position_, "more decompressed data", "the end");
    }

    std::unique_ptr<gzFile_s, Close> file_;  // null once everything is kept
    std::vector<std::byte> kept_;
    std::int64_t position_ = 0;
};

}  // namespace

void Input::read_at(std::int64_t offset, void* out, std::int64_t count) {
    if (offset > size_ || count > size_ - offset) {
        bad_bytes(path_, offset, fmt::format("{} bytes", count), fmt::format("the end of the file at {}", size_));
    }
    if (count > 0) fetch(offset, static_cast<std::byte*>(out), count);
}

bool is_gzip_name(std::string_view path) {
    return path.ends_with(".gz");
}

int open_regular(const std::string& path, std::int64_t& size) {
    // O_NONBLOCK: a named pipe must be refused below, not waited for.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) bad_file(path, fmt::format("expected a readable file: {}", std::strerror(errno)));
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(fd);
        bad_file(path, S_ISDIR(status.st_mode) ? "expected a file, found a directory" : "expected a regular file");
    }
    size = status.st_size;
    return fd;
}

std::unique_ptr<Input> open_input(const std::string& path) {
    if (is_gzip_name(path)) return std::make_unique<GzipInput>(path);
    return std::make_unique<PlainInput>(path);
}

std::unique_ptr<Input> open_input(const Location& location) {
    if (!location.dataset.empty()) {
        bad_argument(fmt::format("{}/{}: expected {} alone: this format has no named data sets", location.file,
                                 location.dataset, location.file));
    }
    return open_input(location.file);
}

}  // namespace kith::io
