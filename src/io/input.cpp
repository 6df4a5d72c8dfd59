// Reads files with pread, gzipped ones through zlib.
#include "io/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "io/errors.h"

namespace kith::io {
namespace {

// Linux transfers at most 2^31 - 4096 bytes a call, and zlib counts in 32 bits.
constexpr std::int64_t call_limit = std::int64_t{1} << 30;

std::int64_t time_of_change(const struct stat& status) {
    return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

class PlainInput final : public Input {
public:
    explicit PlainInput(const std::string& path) : Input(path), file_(path) { size_ = file_.size(); }

private:
    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) override {
        while (count > 0) {
            const ssize_t got =
                ::pread(file_.descriptor(), out, static_cast<std::size_t>(std::min(count, call_limit)), offset);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) bad_bytes(path_, offset, fmt::format("{} more bytes", count), std::strerror(errno));
            if (got == 0) bad_bytes(path_, offset, fmt::format("{} more bytes", count), "the end: the file has shrunk");
            offset += got;
            out += got;
            count -= got;
        }
        file_.require_unchanged();
    }

    OpenFile file_;
};

// The counting pass keeps what it decompresses up to this size, so that a usual file is decompressed once.
constexpr std::size_t kept_limit = std::size_t{64} << 20;
constexpr std::size_t counting_step = std::size_t{1} << 18;

class GzipInput final : public Input {
public:
    explicit GzipInput(const std::string& path) : Input(path), compressed_(path) {
        const int fd = ::dup(compressed_.descriptor());
        file_.reset(fd < 0 ? nullptr : gzdopen(fd, "rb"));
        if (!file_) {
            if (fd >= 0) ::close(fd);
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
        compressed_.require_unchanged();
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

    OpenFile compressed_;
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

OpenFile::OpenFile(const std::string& path) : path_(path) {
    // O_NONBLOCK: a named pipe must be refused below, not waited for.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) bad_file(path, fmt::format("expected a readable file: {}", std::strerror(errno)));
    struct stat status {};
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(fd_);
        bad_file(path, S_ISDIR(status.st_mode) ? "expected a file, found a directory" : "expected a regular file");
    }
    size_ = status.st_size;
    changed_ = time_of_change(status);
}

OpenFile::~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_), changed_(other.changed_) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    std::swap(changed_, other.changed_);
    return *this;
}

void OpenFile::require_unchanged() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) bad_file(path_, fmt::format("cannot be examined: {}", std::strerror(errno)));
    if (status.st_size != size_) {
        bad_file(path_, fmt::format("expected a file that stays as it is, found {} bytes where {} were at first",
                                    static_cast<std::int64_t>(status.st_size), size_));
    }
    if (time_of_change(status) != changed_) {
        bad_file(path_, "expected a file that stays as it is, found that it was written to while it was read");
    }
}

void OpenFile::require_same(int descriptor) const {
    struct stat own {
    }, other{};
    if (::fstat(fd_, &own) != 0 || ::fstat(descriptor, &other) != 0 || own.st_dev != other.st_dev ||
        own.st_ino != other.st_ino) {
        bad_file(path_, "expected a file that stays as it is, found that it was replaced while it was opened");
    }
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
