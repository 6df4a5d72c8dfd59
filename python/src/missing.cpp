// A NaN is found by its bits: no comparison of floating point, whose answer could depend on the state of the host.
#include "missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "gil.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// A thread reads at least this many bytes, which take it about a millisecond, many times what starting it does; beyond
// this many threads memory gives no more.
constexpr std::int64_t bytes_per_thread = 8 << 20, most_threads = 16;
// Signals are looked for between pieces of this many bytes, about a tenth of a second.
constexpr std::int64_t bytes_per_piece = 1 << 30;
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
std::int64_t count_rows(const Bits* values, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    // Whole rows that follow each other without a gap are looked at together first.
    const std::int64_t together = stride == cols ? std::max<std::int64_t>(1, block_elements / cols) : 1;
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < rows; first += together) {
        const std::int64_t last = std::min(rows, first + together);
        if (!any_nan<Bits, infinity>(values + first * stride, (last - first - 1) * stride + cols)) continue;
        for (std::int64_t i = first; i < last; ++i) count += any_nan<Bits, infinity>(values + i * stride, cols);
    }
    return count;
}

// For columns `stride` elements apart.
template <class Bits, Bits infinity>
std::int64_t count_rows_of_columns(const Bits* values, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < rows; first += block_elements) {
        const std::int64_t last = std::min(rows, first + block_elements);
        std::bitset<block_elements> seen;
        for (std::int64_t j = 0; j < cols; ++j) {
            const Bits* const column = values + j * stride;
            if (!any_nan<Bits, infinity>(column + first, last - first)) continue;
            for (std::int64_t i = first; i < last; ++i) {
                if (any_nan<Bits, infinity>(column + i, 1)) seen.set(static_cast<std::size_t>(i - first));
            }
        }
        count += static_cast<std::int64_t>(seen.count());
    }
    return count;
}

std::int64_t count_rows(const MatrixView& v) {
    const auto as = [&]<class Bits, Bits infinity>() {
        const auto* values = static_cast<const Bits*>(v.data);
        return v.layout == Layout::row_major ? count_rows<Bits, infinity>(values, v.rows, v.cols, v.stride)
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
    v.data = static_cast<const std::byte*>(v.data) + first * step * static_cast<std::int64_t>(size_of(v.type));
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

std::int64_t count(const MatrixView& v, int wanted_threads) {
    const std::int64_t row_bytes = std::max<std::int64_t>(1, v.cols * static_cast<std::int64_t>(size_of(v.type)));
    if (v.rows * row_bytes < bytes_per_thread) return count_rows(v);
    const std::int64_t allowed = wanted_threads > 0 ? wanted_threads : std::thread::hardware_concurrency();
    const std::int64_t rows_per_piece = std::max<std::int64_t>(1, bytes_per_piece / row_bytes);
    std::int64_t total = 0;
    for (std::int64_t first = 0; first < v.rows; first += rows_per_piece) {
        const MatrixView piece = rows_of(v, first, std::min(rows_per_piece, v.rows - first));
        check_signals();
        const ReleasedGil released;
        total += count_piece(piece, std::min({allowed, most_threads, piece.rows * row_bytes / bytes_per_thread}));
    }
    return total;
}

}  // namespace

NanRows nan_rows(const Matrix& matrix, const char* name, const Settings& settings) {
    const MatrixView& v = matrix.view();
    if (settings.missing == Missing::ignored || v.device != host_memory) return {};
    const std::int64_t found = v.rows == 0 || v.cols == 0 ? 0 : count(v, settings.threads);
    if (found > 0 && settings.missing == Missing::refused) {
        const std::string text = fmt::format("{}: {} of {} rows {} a NaN; expected none, as missing='raise' asks", name,
                                             found, v.rows, found == 1 ? "holds" : "hold");
        throw nb::value_error(text.c_str());
    }
    return found;
}

}  // namespace kith::python
