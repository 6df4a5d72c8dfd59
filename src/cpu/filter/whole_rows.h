// Points whose coordinates are whole numbers of 8 bits, as bytes: of these products are exact, and so are distance keys
// made of them (docs/exactness.md, section 11).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/buffer.h"

namespace kith::cpu {

// Whether the coordinates of a sample of the rows are whole numbers from `least` on, 256 of them, and the metric's
// distance key is the sum of squared differences.
bool whole_from(double least, const MatrixView& rows, const MetricSpec& metric, Isa isa);
// The least of such numbers, 0 or -128; none where they are others.
std::optional<double> least_whole(const MatrixView& rows, const MetricSpec& metric, Isa isa);

// Distance keys |q - x|^2 as |q|^2 + |x|^2 - 2 <q, x>, all of them whole numbers that 32 bits hold.
class WholeRows {
public:
    WholeRows(std::int64_t n, std::int64_t d, double least, Isa isa)
        : d_(d),
          stride_((d + product_bytes - 1) / product_bytes * product_bytes),
          least_(least),
          product_(byte_product(isa)),
          rows_(n * stride_),
          terms_(n) {}

    // Point `id`; false where it is none of whole numbers. Different threads may set different points.
    bool set(const TileKernels& tiles, const double* row, std::int64_t id) const;
    // What queries take: query_bytes() each. Not of whole numbers is one that is not usable.
    std::int64_t query_bytes() const { return query_header + stride_; }
    QueryTerms query(const TileKernels& tiles, const double* row, std::byte* out) const;

    double key(const std::byte* query, std::int64_t id) const {
        std::int32_t start;
        std::memcpy(&start, query, sizeof start);
        const auto* const of_query = reinterpret_cast<const std::int8_t*>(query + query_header);
        return static_cast<double>(start + terms_[id] - 2 * product_(numbers(id), of_query, stride_));
    }
    std::int64_t row_bytes() const { return stride_; }
    const std::byte* row(std::int64_t id) const { return reinterpret_cast<const std::byte*>(numbers(id)); }
    // Calls use(j, key) for the point id_of(j), j from 0 to count.
    template <class IdOf, class Use>
    void each(const std::byte* query, std::int64_t count, const IdOf& id_of, const Use& use) const {
        const auto prefetch = [&](std::int64_t j) __attribute__((always_inline)) {
            const std::byte* const next = row(id_of(j));
            for (std::int64_t b = 0; b < stride_; b += 64) __builtin_prefetch(next + b);
        };
        for (std::int64_t j = 0; j < std::min(ahead, count); ++j) prefetch(j);
        for (std::int64_t j = 0; j < count; ++j) {
            if (j + ahead < count) prefetch(j + ahead);
            use(j, key(query, id_of(j)));
        }
    }

private:
    static constexpr std::int64_t ahead = 6;  // rows
    // A cache line, of which the first word is the query's share of a key.
    static constexpr std::int64_t query_header = 64;
    const std::uint8_t* numbers(std::int64_t id) const { return rows_.data() + id * stride_; }

    std::int64_t d_, stride_;
    double least_;
    ByteProduct product_;
    Buffer<std::uint8_t> rows_;
    Buffer<std::int32_t> terms_;  // the points' shares
};

}  // namespace kith::cpu
