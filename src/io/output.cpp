// Writes temporary files and renames them.
#include "io/output.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/errors.h"
#include "io/input.h"

namespace kith::io {
namespace {

constexpr std::int64_t call_limit = std::int64_t{1} << 30;

int open_for_writing(const Target& target) {
    const int fd = ::open(target.temporary.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) bad_file(target.file, fmt::format("cannot write {}: {}", target.temporary, std::strerror(errno)));
    return fd;
}

class PlainOutput final : public Output {
public:
    explicit PlainOutput(const Target& target) : file_(target.file), fd_(open_for_writing(target)) {}
    ~PlainOutput() override {
        if (fd_ >= 0) ::close(fd_);
    }
    PlainOutput(const PlainOutput&) = delete;
    PlainOutput& operator=(const PlainOutput&) = delete;

    void write(const void* bytes, std::int64_t count) override {
        const auto* from = static_cast<const std::byte*>(bytes);
        while (count > 0) {
            const ssize_t put = ::write(fd_, from, static_cast<std::size_t>(std::min(count, call_limit)));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) bad_file(file_, fmt::format("offset {}: cannot write: {}", offset_, std::strerror(errno)));
            from += put;
            offset_ += put;
            count -= put;
        }
    }

    void finish() override {
        const int fd = fd_;
        fd_ = -1;
        if (::close(fd) != 0) bad_file(file_, fmt::format("cannot complete: {}", std::strerror(errno)));
    }

private:
    std::string file_;
    int fd_;
    std::int64_t offset_ = 0;
};

class GzipOutput final : public Output {
public:
    explicit GzipOutput(const Target& target) : file_(target.file) {
        const int fd = open_for_writing(target);
        stream_ = gzdopen(fd, "wb");
        if (!stream_) {
            ::close(fd);
            bad_file(file_, "cannot start compression");
        }
    }
    ~GzipOutput() override {
        if (stream_) gzclose(stream_);
    }
    GzipOutput(const GzipOutput&) = delete;
    GzipOutput& operator=(const GzipOutput&) = delete;

    void write(const void* bytes, std::int64_t count) override {
        const auto* from = static_cast<const std::byte*>(bytes);
        while (count > 0) {
            const int put = gzwrite(stream_, from, static_cast<unsigned>(std::min(count, call_limit)));
            if (put <= 0) bad_file(file_, fmt::format("offset {}: cannot write: {}", gzoffset(stream_), why()));
            from += put;
            count -= put;
        }
    }

    void finish() override {
        const gzFile stream = stream_;
        stream_ = nullptr;
        if (gzclose(stream) != Z_OK) bad_file(file_, fmt::format("cannot complete: {}", std::strerror(errno)));
    }

private:
    const char* why() const {
        int code = Z_OK;
        const char* text = gzerror(stream_, &code);
        return code == Z_ERRNO ? std::strerror(errno) : text;
    }

    std::string file_;
    gzFile stream_ = nullptr;
};

}  // namespace

PendingFile::PendingFile(const std::string& file, const std::string& dataset) : target_{file, "", dataset} {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    // Renaming onto a device or a directory would replace it or fail late.
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        bad_file(file, fs::is_directory(status) ? "expected a file to write, found a directory"
                                                : "expected a regular file to write");
    }
    destination_ = fs::exists(status) ? fs::canonical(file, error).string() : file;
    if (error) destination_ = file;

    static std::atomic<unsigned> counter{0};
    for (;;) {
        target_.temporary = fmt::format("{}.part-{}-{}", destination_, ::getpid(), counter++);
        const int fd = ::open(target_.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            ::close(fd);
            return;
        }
        if (errno != EEXIST) bad_file(file, fmt::format("expected a writable place: {}", std::strerror(errno)));
    }
}

PendingFile::~PendingFile() {
    if (!committed_) ::unlink(target_.temporary.c_str());
}

void PendingFile::commit() {
    if (std::rename(target_.temporary.c_str(), destination_.c_str()) != 0) {
        bad_file(target_.file, fmt::format("cannot rename {} to it: {}", target_.temporary, std::strerror(errno)));
    }
    committed_ = true;
}

std::unique_ptr<Output> open_output(const Target& target) {
    if (is_gzip_name(target.file)) return std::make_unique<GzipOutput>(target);
    return std::make_unique<PlainOutput>(target);
}

}  // namespace kith::io
