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
#include <vector>

#include "io/errors.h"
#include "io/input.h"
#include "io/regular_file.h"
#include "machine/float_state.h"

namespace kith::io {
namespace {

constexpr std::int64_t call_limit = std::int64_t{1} << 30;

// Of the temporary files of this process.
constinit std::atomic<unsigned> part_counter{0};
constexpr std::size_t copy_block = std::size_t{8} << 20;

// `offset` is where the bytes go, for the message.
void write_fully(const PendingFile& file, const std::byte* from, std::int64_t count,
                 std::int64_t offset) {
    while (count > 0) {
        const ssize_t put =
            ::write(file.descriptor(), from, static_cast<std::size_t>(std::min(count, call_limit)));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            bad_file(file.file(),
                     fmt::format("offset {}: cannot write: {}", offset, std::strerror(errno)));
        }
        from += put;
        offset += put;
        count -= put;
    }
}

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

class PlainOutput final : public Output {
public:
    explicit PlainOutput(PendingFile& file) : file_(file) {}

    void write(const void* bytes, std::int64_t count) override {
        write_fully(file_, static_cast<const std::byte*>(bytes), count, offset_);
        offset_ += count;
    }

    void finish() override {}

private:
    PendingFile& file_;
    std::int64_t offset_ = 0;
};

class GzipOutput final : public Output {
public:
    explicit GzipOutput(const PendingFile& file) : file_(file.file()) {
        const int fd = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
        stream_ = fd < 0 ? nullptr : gzdopen(fd, "wb");
        if (!stream_) {
            if (fd >= 0) ::close(fd);
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
            const int put =
                gzwrite(stream_, from, static_cast<unsigned>(std::min(count, call_limit)));
            if (put <= 0)
                bad_file(file_,
                         fmt::format("offset {}: cannot write: {}", gzoffset(stream_), why()));
            from += put;
            count -= put;
        }
    }

    void finish() override {
        const gzFile stream = stream_;
        stream_ = nullptr;
        if (gzclose(stream) != Z_OK)
            bad_file(file_, fmt::format("cannot complete: {}", std::strerror(errno)));
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

std::string resolved(const std::string& file) {
    namespace fs = std::filesystem;
    constexpr int most_links = 40;  // as the system has it
    fs::path path = file;
    std::error_code error;
    for (int i = 0; i < most_links && fs::is_symlink(path, error); ++i) {
        const fs::path next = fs::read_symlink(path, error);
        if (error) break;
        path = path.parent_path() / next;
    }
    return path.string();
}

PendingFile::PendingFile(const std::string& file, OutputSet::Links links)
    : file_(file), destination_(links == OutputSet::Links::follow ? resolved(file) : file) {
    struct stat old {};
    const auto look = links == OutputSet::Links::follow ? ::stat : ::lstat;
    if (look(destination_.c_str(), &old) != 0) {
        if (errno != ENOENT)
            bad_file(file_, fmt::format("expected a writable place: {}", std::strerror(errno)));
    } else if (!S_ISLNK(old.st_mode)) {  // of what a link names nothing is kept
        // Renaming onto a device or a directory would replace it or fail late.
        if (!S_ISREG(old.st_mode)) {
            bad_file(file_, S_ISDIR(old.st_mode) ? "expected a file to write, found a directory"
                                                 : "expected a regular file to write");
        }
        old_ = old;
    }
    create_temporary();
    if (old_) keep_mode();
}

void PendingFile::create_temporary() {
    const std::filesystem::path path = destination_;
    std::string name = path.filename().string();
    if (name.empty()) bad_file(file_, "expected the name of a file to write");
    if (old_) {
        // What is protected from writing is not to be replaced either.
        const int probe = ::open(destination_.c_str(), O_WRONLY | O_CLOEXEC);
        if (probe < 0)
            bad_file(file_, fmt::format("expected a writable file: {}", std::strerror(errno)));
        ::close(probe);
        // In a sticky folder (/tmp) only these may rename onto it.
        struct stat folder {};
        const uid_t me = ::geteuid();
        if (::stat(folder_of(destination_).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) &&
            me != 0 && me != old_->st_uid && me != folder.st_uid) {
            bad_file(file_, "expected a file of yours: its folder lets nobody else replace it");
        }
    }
    constexpr std::size_t longest = 200;  // leaves room for the rest within the 255 bytes of a name
    if (name.size() > longest) name.resize(longest);
    for (;;) {
        temporary_ =
            (path.parent_path() / fmt::format("{}.part-{}-{}", name, ::getpid(), part_counter++))
                .string();
        // Before the file is there: a signal may come in between.
        name_.emplace(temporary_);
        // Not for others to read before it has the mode of the file that it replaces.
        descriptor_ =
            ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, old_ ? 0600 : 0666);
        if (descriptor_ >= 0) return;
        if (errno != EEXIST)
            bad_file(file_, fmt::format("expected a writable place: {}", std::strerror(errno)));
    }
}

void PendingFile::keep_mode() const noexcept {
    mode_t mode = old_->st_mode & 07777;
    // Without the owner, his privileges must not become ours.
    if (::fchown(descriptor_, old_->st_uid, old_->st_gid) != 0) mode &= 0777;
    (void)::fchmod(descriptor_, mode);
}

PendingFile::~PendingFile() {
    if (!committed_) ::unlink(temporary_.c_str());
    ::close(descriptor_);
}

void PendingFile::copy_old(const std::function<bool()>& keep_going) {
    const RegularFile from(destination_, file_);
    if (!from.is_open())
        bad_file(file_, fmt::format("cannot read: {}", std::strerror(from.error())));
    struct stat old {};
    if (::fstat(from.descriptor(), &old) != 0)
        bad_file(file_, fmt::format("cannot read: {}", std::strerror(errno)));
    old_ = old;
    copied_ = true;
    std::vector<std::byte> block(copy_block);
    for (std::int64_t offset = 0;;) {
        if (keep_going && !machine::for_caller(keep_going)())
            throw Error(ErrorCode::cancelled, "cancelled");
        const std::int64_t got =
            from.read(block.data(), static_cast<std::int64_t>(block.size()), file_);
        if (got == 0) return;
        write_fully(*this, block.data(), got, offset);
        offset += got;
    }
}

void PendingFile::sync() {
    // EINVAL: a file system that has no such thing.
    if (::fsync(descriptor_) != 0 && errno != EINVAL) {
        bad_file(file_, fmt::format("cannot complete: {}", std::strerror(errno)));
    }
}

void PendingFile::commit() {
    if (copied_) {
        struct stat now {};
        const bool there = ::stat(destination_.c_str(), &now) == 0;
        const auto same_time = [](const timespec& a, const timespec& b) {
            return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
        };
        if (!there || now.st_dev != old_->st_dev || now.st_ino != old_->st_ino ||
            now.st_size != old_->st_size || !same_time(now.st_mtim, old_->st_mtim)) {
            committed_ = true;  // the work is not lost
            name_.reset();
            bad_file(
                file_,
                fmt::format(
                    "has been changed by someone else meanwhile; the file with the results is {}",
                    temporary_));
        }
    }
    if (std::rename(temporary_.c_str(), destination_.c_str()) != 0) {
        bad_file(file_,
                 fmt::format("cannot rename {} to it: {}", temporary_, std::strerror(errno)));
    }
    committed_ = true;
    name_.reset();
    const int descriptor =
        ::open(folder_of(destination_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // a folder to write to, not to read
    const bool failed = ::fsync(descriptor) != 0 && errno == EIO;
    ::close(descriptor);
    if (failed) bad_file(file_, fmt::format("cannot complete: {}", std::strerror(EIO)));
}

std::unique_ptr<Output> open_plain(PendingFile& file) {
    return std::make_unique<PlainOutput>(file);
}

std::unique_ptr<Output> open_output(const Target& target) {
    if (is_gzip_name(target.file)) return std::make_unique<GzipOutput>(*target.pending);
    return open_plain(*target.pending);
}

}  // namespace kith::io
