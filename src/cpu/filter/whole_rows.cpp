// Rows of whole numbers as bytes. With x and q less the least number, and y = q - 128 as a query's bytes are kept,
//   |q - x|^2  =  |q|^2 + (|x|^2 - 256 sum x) - 2 <y, x>.
#include "cpu/filter/whole_rows.h"

#include <cstring>
#include <vector>

namespace kith::cpu {

namespace {

// Rows that are looked at before all points are taken for whole numbers.
constexpr std::int64_t sampled_rows = 64;
constexpr double middle = 128;

}  // namespace

bool whole_from(double least, const MatrixView& rows, const MetricSpec& metric, Isa isa) {
    const std::int64_t d = rows.cols, sample = std::min(rows.rows, sampled_rows);
    if (metric.id != MetricId::sqeuclidean && metric.id != MetricId::euclidean) return false;
    if (sample == 0 || d > max_projected_dimensions) return false;
    const DistanceKeys distance_keys(metric, isa);
    const TileKernels& tiles = tile_kernels(isa);
    RowBlock row(1, d);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < sample; ++i) {
        distance_keys.load(rows, i * rows.rows / sample, 1, row);
        if (!row.nan()[0] && !tiles.take_whole(row.row(0), least, d, bytes.data()).whole) return false;
    }
    return true;
}

std::optional<double> least_whole(const MatrixView& rows, const MetricSpec& metric, Isa isa) {
    if (rows.type != ElementType::i8 && whole_from(0, rows, metric, isa)) return 0;
    return whole_from(-middle, rows, metric, isa) ? std::optional(-middle) : std::nullopt;
}

bool WholeRows::set(const TileKernels& tiles, const double* row, std::int64_t id) const {
    std::uint8_t* const out = rows_.data() + id * stride_;
    const WholeSums s = tiles.take_whole(row, least_, d_, out);
    std::fill(out + d_, out + stride_, std::uint8_t{0});
    terms_[id] = s.squares - 256 * s.sum;
    return s.whole;
}

QueryTerms WholeRows::query(const TileKernels& tiles, const double* row, std::byte* out) const {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out + query_header);
    const WholeSums s = tiles.take_whole(row, least_, d_, bytes);
    for (std::int64_t j = 0; j < d_; ++j) bytes[j] ^= 0x80;
    std::fill(bytes + d_, bytes + stride_, std::uint8_t{0});
    std::memcpy(out, &s.squares, sizeof s.squares);
    QueryTerms terms;
    terms.usable = s.whole;
    return terms;
}

}  // namespace kith::cpu
