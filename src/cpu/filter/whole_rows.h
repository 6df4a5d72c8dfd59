// Points with 8-bit integer coordinates, stored as bytes. Their products are exact, and distance
// keys computed from them are the canonical ones (docs/proofs/pca.md, lemma 3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/buffer.h"
#include "metric/cosine.h"

namespace kith::cpu {

// How a metric computes keys of integer rows: l2, dot or cosine; none if it has no such keys.
metric::Gemm whole_form(MetricId metric);
// True if the sampled coordinates are integers in [least, least + 256) and the metric has a
// whole_form().
bool whole_from(double least, const MatrixView& rows, const MetricSpec& metric, Isa isa);
// `least` of the points, 0 or -128; none if the coordinates are not 8-bit integers.
std::optional<double> least_whole(const MatrixView& rows, const MetricSpec& metric, Isa isa);

// Distance keys from <q, x>, or from |q - x|^2 = |q|^2 + |x|^2 - 2 <q, x>: integers that 32 bits
// hold.
class WholeRows {
public:
    // `form`: a whole_form() other than none.
    WholeRows(std::int64_t n, std::int64_t d, double least, metric::Gemm form, Isa isa)
        : d_(d),
          stride_((d + product_bytes - 1) / product_bytes * product_bytes),
          least_(static_cast<std::int32_t>(least)),
          form_(form),
          weight_(form == metric::Gemm::l2 ? -2 : 1),
          product_(byte_product(isa)),
          rows_(n * stride_),
          terms_(n),
          norms2_(form == metric::Gemm::cosine ? n : 0) {}

    double least() const { return least_; }
    // Stores point `id`; false if its coordinates are not integers of the range. Different threads
    // may set different points.
    bool set(const TileKernels& tiles, const double* row, std::int64_t id) const;
    // query() writes query_bytes() bytes. A query of other numbers is returned as not usable.
    std::int64_t query_bytes() const { return query_header + stride_; }
    QueryTerms query(const TileKernels& tiles, const double* row, std::byte* out) const;

    double key(const std::byte* query, std::int64_t id) const {
        Header header;
        std::memcpy(&header, query, sizeof header);
        const auto* const of_query = reinterpret_cast<const std::int8_t*>(query + query_header);
        const auto whole = static_cast<double>(header.term + terms_[id] +
                                               weight_ * product_(numbers(id), of_query, stride_));
        if (form_ == metric::Gemm::l2) return whole;
        return form_ == metric::Gemm::dot
                   ? 0.0 - whole
                   : metric::Cosine::from_dot(whole, header.norm2, norms2_[id]);
    }
    std::int64_t row_bytes() const { return stride_; }
    const std::byte* row(std::int64_t id) const {
        return reinterpret_cast<const std::byte*>(numbers(id));
    }
    // Calls use(j, key) for point id_of(j), for each j in [0, count).
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
    static constexpr std::int64_t ahead = 6;  // prefetch distance in rows
    // At the start of a query's words, which are aligned to a cache line: its share of a key, and
    // its squared norm (cosine).
    struct Header {
        std::int32_t term;
        double norm2;
    };
    static constexpr std::int64_t query_header = 64;
    const std::uint8_t* numbers(std::int64_t id) const { return rows_.data() + id * stride_; }
    // The squared norm of the row with these sums.
    double norm2(const WholeSums& sums) const;

    std::int64_t d_, stride_;
    std::int32_t least_;
    metric::Gemm form_;
    std::int32_t weight_;  // of a product
    ByteProduct product_;
    Buffer<std::uint8_t> rows_;
    Buffer<std::int32_t> terms_;  // the points' shares of a key
    Buffer<double> norms2_;       // squared norms of the points (cosine)
};

}  // namespace kith::cpu
