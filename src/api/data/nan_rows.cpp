// Rows that hold a NaN. A NaN is found by its bits: no comparison of floating point, whose answer
// could depend on the state of the host.
#include "kith/nan_rows.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "gpu/points/nan_rows.h"

namespace kith {

namespace {

// A thread reads at least this many bytes, which take it about a millisecond, many times what
// starting it does; beyond this many threads memory gives no more.
constexpr std::int64_t bytes_per_thread = 8 << 20, most_threads = 16;
// Elements that are looked at together: they stay in the nearest cache for a second look.
constexpr std::int64_t block_elements = 4096;

template <class Bits, Bits infinity>
bool any_nan(const Bits* values, std::int64_t count) {
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    for (std::int64_t first = 0; first < count; first += block_elements) {
        const std::int64_t last = std::min(count, first + block_elements);
        Bits found = 0;
        // `infinity - magnitude` is negative of a NaN alone.
        for (std::int64_t i = first; i < last; ++i) {
            found |= static_cast<Bits>(infinity - static_cast<Bits>(values[i] & ~sign));
        }
        if (found & sign) return true;
    }
    return false;
}

// For rows `stride` elements apart.
template <class Bits, Bits infinity>
std::int64_t count_rows(const Bits* values, std::int64_t rows, std::int64_t cols,
                        std::int64_t stride) {
    // Whole rows that follow each other without a gap are looked at together first.
    const std::int64_t together =
        stride == cols ? std::max<std::int64_t>(1, block_elements / cols) : 1;
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < rows; first += together) {
        const std::int64_t last = std::min(rows, first + together);
        if (!any_nan<Bits, infinity>(values + first * stride, (last - first - 1) * stride + cols))
            continue;
        for (std::int64_t i = first; i < last; ++i)
            count += any_nan<Bits, infinity>(values + i * stride, cols);
    }
    return count;
}

// For columns `stride` elements apart.
template <class Bits, Bits infinity>
std::int64_t count_rows_of_columns(const Bits* values, std::int64_t rows, std::int64_t cols,
                                   std::int64_t stride) {
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < rows; first += block_elements) {
        const std::int64_t last = std::min(rows, first + block_elements);
        std::bitset<block_elements> seen;
        for (std::int64_t j = 0; j < cols; ++j) {
            const Bits* const column = values + j * stride;
            if (!any_nan<Bits, infinity>(column + first, last - first)) continue;
            for (std::int64_t i = first; i < last; ++i) {
                if (any_nan<Bits, infinity>(column + i, 1))
                    seen.set(static_cast<std::size_t>(i - first));
            }
        }
        count += static_cast<std::int64_t>(seen.count());
    }
    return count;
}

std::int64_t count_rows(const MatrixView& v) {
    const auto as = [&]<class Bits, Bits infinity>() {
        const auto* values = static_cast<const Bits*>(v.data);
        return v.layout == Layout::row_major
                   ? count_rows<Bits, infinity>(values, v.rows, v.cols, v.stride)
                   : count_rows_of_columns<Bits, infinity>(values, v.rows, v.cols, v.stride);
    };
    switch (v.type) {
        case ElementType::f32:
            return as.template operator()<std::uint32_t, 0x7f80'0000>();
        case ElementType::f64:
            return as.template operator()<std::uint64_t, 0x7ff0'0000'0000'0000>();
        case ElementType::f16:
            return as.template operator()<std::uint16_t, 0x7c00>();
        case ElementType::bf16:
            return as.template operator()<std::uint16_t, 0x7f80>();
        default:
            return 0;
    }
}

MatrixView rows_of(MatrixView v, std::int64_t first, std::int64_t count) {
    const std::int64_t step = v.layout == Layout::row_major ? v.stride : 1;
    v.data = static_cast<const std::byte*>(v.data) +
             first * step * static_cast<std::int64_t>(size_of(v.type));
    v.rows = count;
    return v;
}

// By several threads; a thread that the system does not give is done without.
std::int64_t count_piece(const MatrixView& piece, std::int64_t threads) {
    if (threads <= 1) return count_rows(piece);
    const std::int64_t rows = (piece.rows + threads - 1) / threads;
    std::atomic<std::int64_t> next{0}, count{0};
    const auto work = [&] {
        for (std::int64_t first; (first = next.fetch_add(rows)) < piece.rows;) {
            count += count_rows(rows_of(piece, first, std::min(rows, piece.rows - first)));
        }
    };
    std::vector<std::jthread> others;
    try {
        while (static_cast<std::int64_t>(others.size()) + 1 < threads) others.emplace_back(work);
    } catch (const std::system_error&) {
    }
    work();
    others.clear();
    return count;
}

std::int64_t count_on_host(const MatrixView& v, int wanted) {
    if (v.rows == 0 || v.cols == 0) return 0;
    const std::int64_t bytes = v.rows * v.cols * static_cast<std::int64_t>(size_of(v.type)),
                       allowed = wanted > 0 ? wanted : std::thread::hardware_concurrency();
    return count_piece(v, std::min({allowed, most_threads, bytes / bytes_per_thread}));
}

}  // namespace

class NanRows::Impl {
public:
    Impl(const MatrixView& rows, void* stream) : rows_(rows) {
        if (rows.device != host_memory) on_device_.emplace(rows, stream);
    }
    std::int64_t count(int threads) {
        return on_device_ ? on_device_->count() : count_on_host(rows_, threads);
    }

private:
    MatrixView rows_;
    std::optional<gpu::NanSearch> on_device_;
};

NanRows::NanRows(const MatrixView& rows, void* stream)
    : impl_(std::make_unique<Impl>(rows, stream)) {}
NanRows::~NanRows() = default;
NanRows::NanRows(NanRows&&) noexcept = default;
NanRows& NanRows::operator=(NanRows&&) noexcept = default;

std::int64_t NanRows::count(int threads) {
    return impl_->count(threads);
}

}  // namespace kith
