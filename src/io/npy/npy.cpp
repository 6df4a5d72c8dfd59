// npy, versions 1 to 3, in C and Fortran order; writes version 1.0 in C order.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "io/errors.h"
#include "io/flat.h"
#include "io/npy/npy.h"
#include "io/npy/npy_header.h"
#include "kith/memory.h"

namespace kith::io {
namespace {

// Columns transposed together: a run of 64 elements fills at least a cache line of the output. Long
// columns use fewer, so that a panel is small next to the block.
constexpr std::int64_t most_panel_cols = 64;
constexpr std::int64_t panels_of_large = 16;

// Rows transposed together: their part of a panel's output stays in cache.
constexpr std::int64_t tile_rows = 128;

template <class T>
void scatter_column(const std::byte* column, std::int64_t rows, std::byte* out, std::int64_t cols) {
    const T* from = reinterpret_cast<const T*>(column);
    T* to = reinterpret_cast<T*>(out);
    for (std::int64_t i = 0; i < rows; ++i) to[i * cols] = from[i];
}

// Column-major in the file, row-major for the reader.
class FortranSource final : public Source {
public:
    FortranSource(std::unique_ptr<ByteInput> input, const FileInfo& info, const NpyHeader& header)
        : Source(info),
          input_(std::move(input)),
          offset_(header.data_offset),
          swapped_(header.swapped),
          shape_(header.shape.begin() + 1, header.shape.end()) {}

    bool reads_whole() const override { return true; }

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        if (count < info_.rows && (!rows_.empty() || input_->is_sequential())) {
            read_rows(first, count, out);
            return;
        }
        const auto size = static_cast<std::int64_t>(size_of(info_.type));
        const std::int64_t most_bytes =
            std::max(polled_bytes, count * info_.cols * size / panels_of_large);
        const std::int64_t panel_cols = std::clamp<std::int64_t>(
            most_bytes / (count * size), 1, std::min(most_panel_cols, info_.cols));
        std::vector<std::byte> panel(static_cast<std::size_t>(panel_cols * count * size));
        for (std::int64_t col = 0; col < info_.cols; col += panel_cols) {
            const std::int64_t cols = std::min(panel_cols, info_.cols - col);
            read_panel(first, count, col, cols, panel.data());
            if (swapped_)
                swap_bytes(panel.data(), static_cast<std::size_t>(cols * count),
                           static_cast<std::size_t>(size));
            for (std::int64_t i = 0; i < count; i += tile_rows) {
                std::byte* const to = out + i * info_.cols * size;
                for (std::int64_t j = 0; j < cols; ++j) {
                    scatter(panel.data() + (j * count + i) * size, std::min(tile_rows, count - i),
                            to + place_of(col + j) * size);
                }
            }
        }
    }

private:
    // The index in a row of a column of the file: in the file the first of the further dimensions
    // varies fastest, here the last.
    std::int64_t place_of(std::int64_t col) const {
        std::int64_t place = 0;
        for (const std::int64_t extent : shape_) {
            place = place * extent + col % extent;
            col /= extent;
        }
        return place;
    }

    // Reading compressed columns by blocks of rows would decompress all of them for each block: all
    // rows are stored instead.
    void read_rows(std::int64_t first, std::int64_t count, std::byte* out) {
        const std::int64_t row_bytes = info_.cols * static_cast<std::int64_t>(size_of(info_.type));
        if (rows_.empty()) {
            require_memory(info_.rows * row_bytes,
                           fmt::format("{} ({} x {} {}; compressed and in Fortran order, it is "
                                       "kept whole, which it is "
                                       "not where it is decompressed first)",
                                       input_->path(), info_.rows, info_.cols, name(info_.type)));
            std::vector<std::byte> rows(static_cast<std::size_t>(info_.rows * row_bytes));
            read(0, info_.rows, rows.data());
            rows_ = std::move(rows);
        }
        std::memcpy(out, rows_.data() + first * row_bytes,
                    static_cast<std::size_t>(count * row_bytes));
    }

    void read_panel(std::int64_t first, std::int64_t count, std::int64_t col, std::int64_t cols,
                    std::byte* panel) {
        const auto size = static_cast<std::int64_t>(size_of(info_.type));
        if (count == info_.rows) {
            input_->read_at(offset_ + col * count * size, panel, cols * count * size);
            return;
        }
        for (std::int64_t j = 0; j < cols; ++j) {
            input_->read_at(offset_ + ((col + j) * info_.rows + first) * size,
                            panel + j * count * size, count * size);
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

    std::unique_ptr<ByteInput> input_;
    std::int64_t offset_;
    bool swapped_;
    std::vector<std::int64_t> shape_;  // of a row
    std::vector<std::byte> rows_;      // all of them, if they are stored
};

ElementType type_in_file(const NpyHeader& header) {
    switch (header.foreign) {
        case NpyForeign::i16:
        case NpyForeign::u16:
            return ElementType::f16;
        case NpyForeign::u32:
            return ElementType::i32;
        default:
            return header.type;
    }
}

// Converts from[i] to to[i]. Returns the index of the first value that T does not hold, or -1.
template <class Stored, class T>
std::int64_t widen(const std::byte* from, std::byte* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, from += sizeof(Stored), to += sizeof(T)) {
        Stored value{};
        std::memcpy(&value, from, sizeof value);
        if constexpr (std::is_same_v<Stored, std::uint64_t>) {
            if (value > INT64_MAX) return i;
        }
        T wide{};
        if constexpr (std::is_same_v<T, std::uint8_t>) wide = value != 0;
        else wide = static_cast<T>(value);
        std::memcpy(to, &wide, sizeof wide);
    }
    return -1;
}

// Converts elements of a type that kith lacks, exactly, to another.
class ForeignSource final : public Source {
public:
    ForeignSource(SourcePtr stored, const FileInfo& info, NpyForeign foreign, std::string name)
        : Source(info), stored_(std::move(stored)), foreign_(foreign), name_(std::move(name)) {}

    bool reads_whole() const override { return stored_->reads_whole(); }

    // Stored elements are not wider: they are read into the end of their output and converted from
    // its start.
    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        const auto size = static_cast<std::int64_t>(size_of(info_.type));
        const auto stored_size = static_cast<std::int64_t>(size_of(stored_->info().type));
        const std::int64_t rows_polled =
            std::max<std::int64_t>(1, polled_bytes / (info_.cols * stored_size));
        const std::int64_t step = reads_whole() ? count : rows_polled;
        for (const std::int64_t end = first + count; first < end; first += step) {
            const std::int64_t cells = std::min(step, end - first) * info_.cols;
            std::byte* const stored = out + cells * (size - stored_size);
            stored_->read(first, cells / info_.cols, stored);
            if (const std::int64_t beyond = convert(stored, out, cells); beyond >= 0) {
                std::uint64_t value = 0;
                std::memcpy(&value, stored + beyond * stored_size, sizeof value);
                bad_file(name_,
                         fmt::format("row {}, column {}: expected a number below 2^63, found {}",
                                     first + beyond / info_.cols, beyond % info_.cols, value));
            }
            out += cells * size;
        }
    }

private:
    std::int64_t convert(const std::byte* from, std::byte* to, std::int64_t cells) const {
        switch (foreign_) {
            case NpyForeign::i16:
                return widen<std::int16_t, float>(from, to, cells);
            case NpyForeign::u16:
                return widen<std::uint16_t, float>(from, to, cells);
            case NpyForeign::u32:
                return widen<std::uint32_t, std::int64_t>(from, to, cells);
            case NpyForeign::u64:
                return widen<std::uint64_t, std::int64_t>(from, to, cells);
            default:
                return widen<std::uint8_t, std::uint8_t>(from, to, cells);
        }
    }

    SourcePtr stored_;
    NpyForeign foreign_;
    std::string name_;
};

}  // namespace

SourcePtr open_array(std::unique_ptr<ByteInput> input, const char* format) {
    const NpyHeader header = read_npy_header(*input);
    // The layout of the file; foreign elements as any type of equal size.
    FileInfo info{format, header.shape[0], 1, type_in_file(header)};
    for (std::size_t i = 1; i < header.shape.size(); ++i) {
        if (__builtin_mul_overflow(info.cols, header.shape[i], &info.cols)) {
            bad_bytes(input->path(), 10, "a shape whose product fits in 64 bits", "a larger one");
        }
    }
    require_exact_size(*input, info, header.data_offset, header.stored);
    const bool transposed =
        header.fortran_order && info.cols > 1 && (info.rows > 1 || header.shape.size() > 2);
    const std::string name = input->path();
    SourcePtr source;
    if (transposed) source = std::make_unique<FortranSource>(std::move(input), info, header);
    else
        source = std::make_unique<FlatSource>(std::move(input), info, header.data_offset,
                                              header.swapped && size_of(info.type) > 1);
    if (header.foreign == NpyForeign::none) return source;
    info.type = header.type;
    return std::make_unique<ForeignSource>(std::move(source), info, header.foreign, name);
}

SourcePtr open_npy(const Location& location) {
    return open_array(open_input(location), "npy");
}

SinkPtr create_npy(const Target& target, const FileInfo& info) {
    require_type(target, info, "f16 f32 f64 i8 u8 i32 i64");
    return std::make_unique<FlatSink>(target, info, npy_header(info.rows, info.cols, info.type));
}

}  // namespace kith::io
