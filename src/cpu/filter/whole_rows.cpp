// Rows of whole numbers as bytes. With x and q less the least number l, and y = q - 128 as a
// query's bytes are kept,
//   |q - x|^2       =  |q|^2 + (|x|^2 - 256 sum x) - 2 <y, x>,
//   <q + l, x + l>  =  l (sum q + d l) + (128 + l) sum x + <y, x>.
#include "cpu/filter/whole_rows.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace kith::cpu {

namespace {

// Rows that are looked at before all points are taken for whole numbers.
constexpr std::int64_t sampled_rows = 64;
constexpr std::int32_t middle = 128;

}  // namespace

metric::Gemm whole_form(MetricId metric) {
    switch (metric) {
        case MetricId::sqeuclidean:
        case MetricId::euclidean:
            return metric::Gemm::l2;
        case MetricId::inner_product:
            return metric::Gemm::dot;
        case MetricId::cosine:
            return metric::Gemm::cosine;
        default:
            return metric::Gemm::none;
    }
}

bool whole_from(double least, const MatrixView& rows, const MetricSpec& metric, Isa isa) {
    const std::int64_t d = rows.cols, sample = std::min(rows.rows, sampled_rows);
    if (whole_form(metric.id) == metric::Gemm::none || sample == 0 || d > max_projected_dimensions)
        return false;
    const DistanceKeys distance_keys(metric, isa);
    const TileKernels& tiles = tile_kernels(isa);
    RowBlock row(1, d);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < sample; ++i) {
        distance_keys.load(rows, i * rows.rows / sample, 1, row);
        if (!row.nan()[0] && !tiles.take_whole(row.row(0), least, d, bytes.data()).whole)
            return false;
    }
    return true;
}

std::optional<double> least_whole(const MatrixView& rows, const MetricSpec& metric, Isa isa) {
    if (rows.type != ElementType::i8 && whole_from(0, rows, metric, isa)) return 0;
    return whole_from(-middle, rows, metric, isa) ? std::optional<double>(-middle) : std::nullopt;
}

bool WholeRows::set(const TileKernels& tiles, const double* row, std::int64_t id) const {
    std::uint8_t* const out = rows_.data() + id * stride_;
    const WholeSums s = tiles.take_whole(row, least_, d_, out);
    std::fill(out + d_, out + stride_, std::uint8_t{0});
    terms_[id] =
        form_ == metric::Gemm::l2 ? s.squares - 2 * middle * s.sum : (middle + least_) * s.sum;
    if (form_ == metric::Gemm::cosine) norms2_[id] = norm2(s);
    return s.whole;
}

// Of the coordinates themselves. The sum is a whole number, as every part of the canonical one is.
double WholeRows::norm2(const WholeSums& s) const {
    return static_cast<double>(s.squares + (2 * std::int64_t{s.sum} + d_ * least_) * least_);
}

QueryTerms WholeRows::query(const TileKernels& tiles, const double* row, std::byte* out) const {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out + query_header);
    const WholeSums s = tiles.take_whole(row, least_, d_, bytes);
    for (std::int64_t j = 0; j < d_; ++j) bytes[j] ^= 0x80;
    std::fill(bytes + d_, bytes + stride_, std::uint8_t{0});
    const auto d = static_cast<std::int32_t>(d_);
    const Header header{form_ == metric::Gemm::l2 ? s.squares : (s.sum + d * least_) * least_,
                        norm2(s)};
    std::memcpy(out, &header, sizeof header);
    QueryTerms terms;
    terms.usable = s.whole;
    terms.alike = s.whole && form_ != metric::Gemm::l2 && header.norm2 == 0;
    return terms;
}

}  // namespace kith::cpu
