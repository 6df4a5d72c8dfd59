// Gzipped files, through zlib.
#include "io/gzip.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "io/errors.h"

namespace kith::io {
namespace {

constexpr std::size_t kept_limit = std::size_t{64} << 20;

// Decompressed at a time where the bytes are not wanted: about a millisecond's work.
constexpr std::int64_t step_bytes = std::int64_t{1} << 18;

class GzipInput final : public StreamInput {
public:
    explicit GzipInput(const Location& location) : StreamInput(location), compressed_(location) {
        const int fd = ::dup(compressed_.descriptor());
        file_.reset(fd < 0 ? nullptr : gzdopen(fd, "rb"));
        if (!file_) {
            if (fd >= 0) ::close(fd);
            bad_file(path_, "cannot start decompression");
        }
        gzbuffer(file_.get(), 1 << 17);
        count_all();
    }

private:
    struct Close {
        void operator()(gzFile_s* file) const { gzclose(file); }
    };

    void restart() override {
        if (gzrewind(file_.get()) != 0) bad_file(path_, "cannot be decompressed from its start again");
    }

    std::int64_t next(std::byte* out, std::int64_t count) override {
        std::int64_t done = 0;
        while (done < count) {
            const int got = gzread(file_.get(), out + done, static_cast<unsigned>(count - done));
            int code = Z_OK;
            const char* what = gzerror(file_.get(), &code);
            // A stream that breaks off is reported as Z_BUF_ERROR beside the bytes before the break.
            if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
                bad_bytes(path_, gzoffset(file_.get()), "a complete gzip stream",
                          code == Z_BUF_ERROR ? "its end in the middle" : what);
            }
            if (got == 0) break;
            if (gzdirect(file_.get())) bad_bytes(path_, 0, "gzip data (1f 8b), as the name ends in .gz", "other data");
            done += got;
        }
        compressed_.require_unchanged();
        return done;
    }

    OpenFile compressed_;
    std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace

void StreamInput::count_all() {
    std::vector<std::byte> step(static_cast<std::size_t>(step_bytes));
    is_kept_ = true;
    for (std::int64_t got = step_bytes; got == step_bytes; size_ += got) {
        poll();
        got = next(step.data(), step_bytes);
        if (is_kept_ && kept_.size() + static_cast<std::size_t>(got) > kept_limit) {
            is_kept_ = false;
            kept_ = {};
        }
        if (is_kept_) kept_.insert(kept_.end(), step.begin(), step.begin() + got);
    }
    position_ = size_;
}

void StreamInput::forward(std::byte* out, std::int64_t count) {
    poll();
    const std::int64_t got = next(out, count);
    position_ += got;
    if (got < count) bad_bytes(path_, position_, "more decompressed data", "the end");
}

void StreamInput::fetch(std::int64_t offset, std::byte* out, std::int64_t count) {
    if (is_kept_) {
        std::memcpy(out, kept_.data() + offset, static_cast<std::size_t>(count));
        return;
    }
    if (offset < position_) {
        restart();
        position_ = 0;
    }
    std::vector<std::byte> skipped(static_cast<std::size_t>(std::min(step_bytes, offset - position_)));
    while (position_ < offset) forward(skipped.data(), std::min(step_bytes, offset - position_));
    for (; count > 0; count -= step_bytes, out += step_bytes) forward(out, std::min(step_bytes, count));
}

std::unique_ptr<Input> open_gzip(const Location& location) {
    return std::make_unique<GzipInput>(location);
}

}  // namespace kith::io
