// The rows of a call's arguments that hold a NaN.
#include "missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "gil.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// Signals are looked for between pieces of this many bytes, about a tenth of a second.
constexpr std::int64_t bytes_per_piece = 1 << 30;
// Up to this many bytes, about a millisecond of one thread, the GIL is kept.
constexpr std::int64_t small_bytes = 8 << 20;

MatrixView rows_of(MatrixView v, std::int64_t first, std::int64_t count) {
    const std::int64_t step = v.layout == Layout::row_major ? v.stride : 1;
    v.data = static_cast<const std::byte*>(v.data) + first * step * static_cast<std::int64_t>(size_of(v.type));
    v.rows = count;
    return v;
}

std::int64_t count(const MatrixView& v, int threads) {
    const std::int64_t row_bytes = std::max<std::int64_t>(1, v.cols * static_cast<std::int64_t>(size_of(v.type)));
    if (v.rows * row_bytes <= small_bytes) return NanRows(v).count(1);
    const std::int64_t rows_per_piece = std::max<std::int64_t>(1, bytes_per_piece / row_bytes);
    std::int64_t total = 0;
    for (std::int64_t first = 0; first < v.rows; first += rows_per_piece) {
        check_signals();
        const ReleasedGil released;
        total += NanRows(rows_of(v, first, std::min(rows_per_piece, v.rows - first))).count(threads);
    }
    return total;
}

}  // namespace

NanCount::NanCount(const Matrix& matrix, const char* name, const Settings& settings) {
    if (settings.missing == Missing::ignored) return;
    const MatrixView& v = matrix.view();
    if (v.device != host_memory) {
        beside_.emplace(v,
                        reinterpret_cast<void*>(settings.stream));  // NOLINT: a pointer that Python knows as a number
        return;
    }
    known_ = count(v, settings.threads);
    if (*known_ == 0 || settings.missing != Missing::refused) return;
    const std::string text = fmt::format("{}: {} of {} rows {} a NaN; expected none, as missing='raise' asks", name,
                                         *known_, v.rows, *known_ == 1 ? "holds" : "hold");
    throw nb::value_error(text.c_str());
}

RowCount NanCount::rows() {
    if (beside_) known_ = beside_->count();
    beside_.reset();
    return known_;
}

}  // namespace kith::python
