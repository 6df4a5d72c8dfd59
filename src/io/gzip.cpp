// Gzipped files, through zlib.
#include "io/gzip.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "io/errors.h"

namespace kith::io {
namespace {

constexpr std::size_t kept_limit = std::size_t{64} << 20;

// Decompressed at a time where the bytes are not wanted: about a millisecond's work.
constexpr std::int64_t step_bytes = std::int64_t{1} << 18;

// Bytes that deflate makes of one at most: 258 of two bits.
constexpr std::int64_t most_inflated = 1032;

// RFC 1952: members one behind the other; zeros may pad the last.
class GzipInput final : public StreamInput {
public:
    explicit GzipInput(const Location& location)
        : StreamInput(location), compressed_(location), read_(1 << 17) {
        if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK)
            bad_file(path_, "cannot start decompression");
    }
    ~GzipInput() override { inflateEnd(&stream_); }
    GzipInput(const GzipInput&) = delete;
    GzipInput& operator=(const GzipInput&) = delete;

    std::int64_t most_bytes() const override {
        std::int64_t most = 0;
        return __builtin_mul_overflow(compressed_.size(), most_inflated, &most) ? INT64_MAX : most;
    }

private:
    void restart() override {
        inflateReset(&stream_);
        stream_.avail_in = 0;
        taken_ = 0;
        at_end_ = false;
        within_ = false;
    }

    std::int64_t next(std::byte* out, std::int64_t count) override {
        stream_.next_out = reinterpret_cast<Bytef*>(out);
        stream_.avail_out = static_cast<uInt>(count);
        while (stream_.avail_out > 0 && !at_end_) {
            if (!within_ && !begin_member()) break;
            if (stream_.avail_in == 0 && !refill()) {
                bad_bytes(path_, taken_, "a complete gzip stream", "its end in the middle");
            }
            const int code = inflate(&stream_, Z_NO_FLUSH);
            if (code == Z_STREAM_END) within_ = false;
            else if (code != Z_OK) {
                bad_bytes(path_, place(), "a complete gzip stream",
                          stream_.msg ? stream_.msg : "a broken one");
            }
        }
        compressed_.require_unchanged();
        return count - static_cast<std::int64_t>(stream_.avail_out);
    }

    // At the start of a member, or else at the end: what is neither is refused, since it may have
    // been a member.
    bool begin_member() {
        const bool first = place() == 0;
        const int magic[] = {0x1f, 0x8b};
        int found[2] = {-1, -1};
        if (stream_.avail_in > 0 || refill()) found[0] = *stream_.next_in;
        if (stream_.avail_in > 1) found[1] = stream_.next_in[1];
        else if (const std::int64_t at = place() + 1; found[0] >= 0 && at < compressed_.size()) {
            Bytef byte = 0;
            if (::pread(compressed_.descriptor(), &byte, 1, at) == 1) found[1] = byte;
        }
        if (std::equal(std::begin(magic), std::end(magic), std::begin(found))) {
            if (!first) inflateReset(&stream_);
            within_ = true;
            return true;
        }
        if (first) bad_bytes(path_, 0, "gzip data (1f 8b), as the name ends in .gz", "other data");
        while (stream_.avail_in > 0 || refill()) {
            poll();
            const Bytef* const begin = stream_.next_in;
            const Bytef* const end = begin + stream_.avail_in;
            const Bytef* const other =
                std::find_if(begin, end, [](Bytef byte) { return byte != 0; });
            if (other != end) {
                bad_bytes(
                    path_, place() + (other - begin),
                    "the end of the file, zeros or more gzip data (1f 8b) behind the gzip data",
                    "other data");
            }
            stream_.avail_in = 0;
        }
        at_end_ = true;
        return false;
    }

    std::int64_t place() const { return taken_ - static_cast<std::int64_t>(stream_.avail_in); }

    bool refill() {
        ssize_t got = -1;
        do {
            got = ::pread(compressed_.descriptor(), read_.data(), read_.size(), taken_);
        } while (got < 0 && errno == EINTR);
        if (got < 0) bad_bytes(path_, taken_, "more bytes", std::strerror(errno));
        taken_ += got;
        stream_.next_in = read_.data();
        stream_.avail_in = static_cast<uInt>(got);
        return got > 0;
    }

    OpenFile compressed_;
    std::vector<Bytef> read_;
    z_stream stream_{};
    std::int64_t taken_ = 0;  // compressed bytes read so far
    bool within_ = false;     // a member
    bool at_end_ = false;
};

}  // namespace

void StreamInput::watch(const Look& look) {
    if (!is_kept_) return;
    look_ = look;
    look_(kept_.data(), static_cast<std::int64_t>(kept_.size()));
}

std::int64_t StreamInput::size_within(std::int64_t limit) {
    if (is_counted_ || size_ > limit) return size_;
    if (!is_kept_) go_to(size_);
    std::vector<std::byte> step(static_cast<std::size_t>(step_bytes));
    while (!is_counted_ && size_ <= limit) {
        poll();
        const std::int64_t got = next(step.data(), step_bytes);
        if (is_kept_ && kept_.size() + static_cast<std::size_t>(got) > kept_limit) {
            is_kept_ = false;
            kept_ = {};
        }
        if (is_kept_) kept_.insert(kept_.end(), step.begin(), step.begin() + got);
        is_counted_ = got < step_bytes;
        size_ += got;
        position_ = size_;
        if (look_) look_(step.data(), got);
    }
    return size_;
}

void StreamInput::forward(std::byte* out, std::int64_t count) {
    poll();
    const std::int64_t got = next(out, count);
    position_ += got;
    if (got < count) bad_bytes(path_, position_, "more decompressed data", "the end");
}

void StreamInput::go_to(std::int64_t offset) {
    if (offset < position_) {
        restart();
        position_ = 0;
    }
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min(step_bytes, offset - position_)));
    while (position_ < offset) forward(skipped.data(), std::min(step_bytes, offset - position_));
}

void StreamInput::fetch(std::int64_t offset, std::byte* out, std::int64_t count) {
    if (is_kept_) {
        std::memcpy(out, kept_.data() + offset, static_cast<std::size_t>(count));
        return;
    }
    go_to(offset);
    for (; count > 0; count -= step_bytes, out += step_bytes)
        forward(out, std::min(step_bytes, count));
}

std::unique_ptr<ByteInput> open_gzip(const Location& location) {
    return std::make_unique<GzipInput>(location);
}

}  // namespace kith::io
