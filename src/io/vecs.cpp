// fvecs, ivecs, bvecs (TEXMEX, Jégou et al. 2011): each row is its length d as i32, then d
// elements; all d are equal.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "io/errors.h"
#include "io/format.h"
#include "io/input.h"
#include "io/output.h"
#include "kith/memory.h"

namespace kith::io {
namespace {

constexpr std::int64_t prefix_bytes = sizeof(std::int32_t);

// Rows with their prefixes pass through a buffer of about this size.
constexpr std::int64_t buffer_bytes = std::int64_t{8} << 20;

std::int64_t rows_per_buffer(std::int64_t rows, std::int64_t stride) {
    return std::min(rows, std::max<std::int64_t>(1, buffer_bytes / stride));
}

// Counts the rows of what is compressed only as far as memory holds them.
void require_room(ByteInput& input, std::int64_t d, ElementType type, std::int64_t stride) {
    if (!input.held() || input.is_counted()) return;
    const std::int64_t most_rows = free_memory() / (stride - prefix_bytes) + 1;
    std::int64_t limit = 0;
    if (__builtin_mul_overflow(most_rows, stride, &limit)) return;
    const std::int64_t rows = input.size_within(limit) / stride;
    input.require_room(rows * (stride - prefix_bytes),
                       fmt::format("{} ({}{} x {} {})", input.path(), rows,
                                   input.is_counted() ? "" : " or more", d, name(type)));
}

[[noreturn]] void refuse_length(const std::string& path, std::int64_t row, std::int64_t stride,
                                std::int64_t expected, std::int32_t found) {
    bad_bytes(path, row * stride, fmt::format("row {}: length {} as of row 0", row, expected),
              fmt::format("{}", found));
}

// Reads the lengths of rows out of bytes that come piece by piece.
class Lengths {
public:
    Lengths(std::string path, std::int32_t d, std::int64_t stride)
        : path_(std::move(path)), d_(d), stride_(stride) {}

    void look(const std::byte* bytes, std::int64_t count) {
        const std::int64_t end = at_ + count;
        while (next_ < end) {
            // A length may lie across two pieces.
            const std::int64_t within = next_ % stride_;
            const std::int64_t some = std::min(prefix_bytes - within, end - next_);
            std::memcpy(length_ + within, bytes + (next_ - at_), static_cast<std::size_t>(some));
            next_ += some;
            if (within + some < prefix_bytes) break;
            std::int32_t length = 0;
            std::memcpy(&length, length_, sizeof length);
            if (length != d_) refuse_length(path_, next_ / stride_, stride_, d_, length);
            next_ += stride_ - prefix_bytes;
        }
        at_ = end;
    }

private:
    std::string path_;
    std::int32_t d_;
    std::int64_t stride_;
    std::int64_t at_ = 0, next_ = 0;  // what has been looked at, and the next byte of a length
    std::byte length_[prefix_bytes] = {};
};

FileInfo examine(ByteInput& input, const char* format, ElementType type) {
    const auto d = input.value_at<std::int32_t>(0);
    if (d < 1) bad_bytes(input.path(), 0, "a row length of at least 1", fmt::format("{}", d));
    const std::int64_t stride = prefix_bytes + d * static_cast<std::int64_t>(size_of(type));
    input.watch(
        [lengths = Lengths(input.path(), d, stride)](
            const std::byte* bytes, std::int64_t count) mutable { lengths.look(bytes, count); });
    require_room(input, d, type, stride);
    const std::int64_t rows = input.size() / stride;
    if (const std::int64_t rest = input.size() % stride) {
        bad_bytes(input.path(), rows * stride,
                  fmt::format("row {}: {} bytes (d = {})", rows, stride, d),
                  fmt::format("{} bytes up to the end of the file", rest));
    }
    return {format, rows, d, type};
}

class VecsSource final : public Source {
public:
    VecsSource(std::unique_ptr<ByteInput> input, const FileInfo& info)
        : Source(info),
          input_(std::move(input)),
          row_bytes_(info_.cols * static_cast<std::int64_t>(size_of(info_.type))),
          stride_(prefix_bytes + row_bytes_) {}

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        const std::int64_t step = rows_per_buffer(count, stride_);
        std::vector<std::byte> block(static_cast<std::size_t>(step * stride_));
        for (const std::int64_t end = first + count; first < end; first += step) {
            const std::int64_t rows = std::min(step, end - first);
            input_->read_at(first * stride_, block.data(), rows * stride_);
            for (std::int64_t i = 0; i < rows; ++i, out += row_bytes_) {
                const std::byte* row = block.data() + i * stride_;
                std::int32_t d = 0;
                std::memcpy(&d, row, sizeof d);
                if (d != info_.cols)
                    refuse_length(input_->path(), first + i, stride_, info_.cols, d);
                std::memcpy(out, row + prefix_bytes, static_cast<std::size_t>(row_bytes_));
            }
        }
    }

private:
    std::unique_ptr<ByteInput> input_;
    std::int64_t row_bytes_;
    std::int64_t stride_;
};

class VecsSink final : public Sink {
public:
    VecsSink(const Target& target, const FileInfo& info)
        : output_(open_output(target)),
          d_(static_cast<std::int32_t>(info.cols)),
          row_bytes_(info.cols * static_cast<std::int64_t>(size_of(info.type))) {}

    void append(const std::byte* rows, std::int64_t count) override {
        const std::int64_t stride = prefix_bytes + row_bytes_;
        const std::int64_t step = rows_per_buffer(count, stride);
        std::vector<std::byte> block(static_cast<std::size_t>(step * stride));
        for (; count > 0; count -= step) {
            const std::int64_t some = std::min(step, count);
            for (std::int64_t i = 0; i < some; ++i, rows += row_bytes_) {
                std::memcpy(block.data() + i * stride, &d_, sizeof d_);
                std::memcpy(block.data() + i * stride + prefix_bytes, rows,
                            static_cast<std::size_t>(row_bytes_));
            }
            output_->write(block.data(), some * stride);
        }
    }

    void finish() override { output_->finish(); }

private:
    std::unique_ptr<Output> output_;
    std::int32_t d_;
    std::int64_t row_bytes_;
};

SourcePtr open_vecs(const Location& location, const char* format, ElementType type) {
    std::unique_ptr<ByteInput> input = open_input(location);
    const FileInfo info = examine(*input, format, type);
    return std::make_unique<VecsSource>(std::move(input), info);
}

SinkPtr create_vecs(const Target& target, const FileInfo& info, const char* type) {
    require_type(target, info, type);
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    if (info.cols > limit) {
        bad_argument(
            fmt::format("{}: expected at most {} columns, got {}", target.file, limit, info.cols));
    }
    return std::make_unique<VecsSink>(target, info);
}

}  // namespace

SourcePtr open_fvecs(const Location& location) {
    return open_vecs(location, "fvecs", ElementType::f32);
}
SourcePtr open_ivecs(const Location& location) {
    return open_vecs(location, "ivecs", ElementType::i32);
}
SourcePtr open_bvecs(const Location& location) {
    return open_vecs(location, "bvecs", ElementType::u8);
}
SinkPtr create_fvecs(const Target& target, const FileInfo& info) {
    return create_vecs(target, info, "f32");
}
SinkPtr create_ivecs(const Target& target, const FileInfo& info) {
    return create_vecs(target, info, "i32");
}
SinkPtr create_bvecs(const Target& target, const FileInfo& info) {
    return create_vecs(target, info, "u8");
}

}  // namespace kith::io
