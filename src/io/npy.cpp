// npy, versions 1 to 3, in C and Fortran order; writes version 1.0 in C order.
#include <algorithm>
#include <vector>

#include "io/errors.h"
#include "io/flat.h"
#include "io/npy_header.h"

namespace kith::io {
namespace {

// Columns transposed together: a run of 64 elements is at least a cache line of the output.
constexpr std::int64_t panel_cols = 64;

template <class T>
void scatter_column(const std::byte* column, std::int64_t rows, std::byte* out, std::int64_t cols) {
    const T* from = reinterpret_cast<const T*>(column);
    T* to = reinterpret_cast<T*>(out);
    for (std::int64_t i = 0; i < rows; ++i) to[i * cols] = from[i];
}

// Column-major in the file, row-major for the reader.
class FortranSource final : public Source {
public:
    FortranSource(std::unique_ptr<Input> input, const FileInfo& info, const NpyHeader& header)
        : Source(info), input_(std::move(input)), offset_(header.data_offset), swapped_(header.swapped) {}

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        const auto size = static_cast<std::int64_t>(size_of(info_.type));
        std::vector<std::byte> panel(static_cast<std::size_t>(std::min(panel_cols, info_.cols) * count * size));
        for (std::int64_t col = 0; col < info_.cols; col += panel_cols) {
            const std::int64_t cols = std::min(panel_cols, info_.cols - col);
            read_panel(first, count, col, cols, panel.data());
            if (swapped_)
                swap_bytes(panel.data(), static_cast<std::size_t>(cols * count), static_cast<std::size_t>(size));
            for (std::int64_t j = 0; j < cols; ++j) {
                scatter(panel.data() + j * count * size, count, out + (col + j) * size);
            }
        }
    }

private:
    void read_panel(std::int64_t first, std::int64_t count, std::int64_t col, std::int64_t cols, std::byte* panel) {
        const auto size = static_cast<std::int64_t>(size_of(info_.type));
        if (count == info_.rows) {
            input_->read_at(offset_ + col * count * size, panel, cols * count * size);
            return;
        }
        for (std::int64_t j = 0; j < cols; ++j) {
            input_->read_at(offset_ + ((col + j) * info_.rows + first) * size, panel + j * count * size, count * size);
        }
    }

    void scatter(const std::byte* column, std::int64_t rows, std::byte* out) const {
        switch (size_of(info_.type)) {
            case 1:
                return scatter_column<std::uint8_t>(column, rows, out, info_.cols);
            case 2:
                return scatter_column<std::uint16_t>(column, rows, out, info_.cols);
            case 4:
                return scatter_column<std::uint32_t>(column, rows, out, info_.cols);
            default:
                return scatter_column<std::uint64_t>(column, rows, out, info_.cols);
        }
    }

    std::unique_ptr<Input> input_;
    std::int64_t offset_;
    bool swapped_;
};

}  // namespace

SourcePtr open_npy(const Location& location) {
    std::unique_ptr<Input> input = open_input(location);
    const NpyHeader header = read_npy_header(*input);
    FileInfo info{"npy", header.shape[0], 1, header.type};
    for (std::size_t i = 1; i < header.shape.size(); ++i) {
        if (__builtin_mul_overflow(info.cols, header.shape[i], &info.cols)) {
            bad_bytes(input->path(), 10, "a shape whose product fits in 64 bits", "a larger one");
        }
    }
    require_exact_size(*input, info, header.data_offset);
    const bool transposed = header.fortran_order && info.rows > 1 && info.cols > 1;
    if (transposed && header.shape.size() > 2) {
        bad_bytes(input->path(), 10, "at most two dimensions in Fortran order", fmt::format("{}", header.shape.size()));
    }
    if (transposed) return std::make_unique<FortranSource>(std::move(input), info, header);
    return std::make_unique<FlatSource>(std::move(input), info, header.data_offset,
                                        header.swapped && size_of(info.type) > 1);
}

SinkPtr create_npy(const Target& target, const FileInfo& info) {
    require_type(target, info, "f16 f32 f64 i8 u8 i32 i64");
    return std::make_unique<FlatSink>(target, info, npy_header(info.rows, info.cols, info.type));
}

}  // namespace kith::io
