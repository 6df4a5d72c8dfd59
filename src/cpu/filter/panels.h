// The filter's points: rounded to f32 or bf16, packed in panels, each with the terms of its bound.
// Coarse panels hold the few coordinates along a projection, or whole numbers of 8 bits, and rows
// hold all coordinates less coarsely.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/projection.h"
#include "cpu/filter/row_form.h"
#include "cpu/filter/whole_rows.h"
#include "cpu/metric/distance_keys.h"
#include "exact/progress.h"

namespace kith::cpu {

class Filter {
public:
    // Polls `progress` as stage "prepare" and throws where it is cancelled.
    // Null where the bound would hold for too few points to be of use. Rounding::bf16 needs
    // pair_kernels() and a metric of a matrix-product form. `always`: coarse panels are made where
    // a sample says that they do not pay as well. `queries`, where not null, are those that whether
    // they pay is tried with, else some of the points.
    static std::shared_ptr<const Filter> make(const MatrixView& points, const MetricSpec& metric,
                                              Isa isa, int threads, Rounding rounding, bool always,
                                              ProgressMeter& progress,
                                              const MatrixView* queries = nullptr);

    // The tiles for panels of this filter.
    const Tiles& tiles(const TileKernels& kernels) const {
        return bytes_ ? bytes_->tiles : pairs_ ? pairs_->tiles : kernels.of_step[step()];
    }
    // Words of 32 bits that a point takes in a panel, and a query in tiles.
    std::int64_t words() const { return words_; }
    std::int64_t query_words() const { return words_ + (bytes_ ? bytes_->tiles.header : 0); }
    // Of its tiles.
    float exponent() const { return direct_.exponent; }
    std::int64_t panels() const { return panels_; }
    const float* panel(std::int64_t i) const { return data_.data() + i * panel_floats(words_); }

    // The words of all coordinates.
    std::int64_t row_words() const { return row_words_; }
    // Of coarse panels: the words of all coordinates of a point, its terms, and its value for such
    // words of a query; or its whole numbers of 8 bits.
    const WholeRows* whole_rows() const { return whole_ ? &*whole_ : nullptr; }
    const float* row(std::int64_t id) const { return rows_.data() + id * row_words(); }
    const RowTerms& row_terms(std::int64_t id) const { return row_terms_[id]; }
    // What query() writes for them: of 16 bits with the scale behind the words.
    std::int64_t row_query_words() const {
        return shorts_ ? exact::ceil_div(row_words_ + 1, cache_line_words) * cache_line_words
                       : row_words_;
    }
    float row_value(const TileKernels& tiles, const float* query, std::int64_t id) const {
        const RowTerms& t = row_terms_[id];
        if (shorts_)
            return shorts_->value(query, row(id), row_words_, query[row_words_], t.scale,
                                  t.half_norm);
        return t.half_norm + (pairs_ ? pairs_->product : tiles.product)(query, row(id), row_words_);
    }

    // The filter's form of query row i of `block`: row_words() (`out` has room for d, of coarse
    // panels for row_query_words()), signs as the step wants them, and its terms; of coarse panels
    // those of rows.
    QueryTerms query(const RowBlock& block, std::int64_t i, const TileKernels& tiles,
                     float* out) const;
    // Of coarse panels: query_words() of each of the `count` rows of `block`, and the terms of the
    // panels' values.
    void coarse_queries(const RowBlock& block, std::int64_t count, const TileKernels& tiles,
                        float* out, QueryTerms* terms) const;

private:
    static constexpr std::int64_t cache_line_words = 16;
    int step() const { return static_cast<int>(step_); }
    int word_coordinates() const { return pairs_ ? 2 : exact::coordinates_per_word(direct_); }
    std::int64_t words_of(std::int64_t coordinates) const {
        return (coordinates + word_coordinates() - 1) / word_coordinates();
    }
    // The words of a row that the metric's map() has been applied to, or of that many coordinates.
    RowSums round(const TileKernels& tiles, const double* row, const double* centre, double scale,
                  float* out) const {
        return round(tiles, row, centre, scale, form_.d, out);
    }
    RowSums round(const TileKernels& tiles, const double* row, const double* centre, double scale,
                  std::int64_t coordinates, float* out) const;
    // The same of a query, as rows are rounded; of 16 bits its scale behind the words.
    RowSums round_query(const TileKernels& tiles, const double* row, const double* centre,
                        double scale, float* out) const;
    // Rows of 16 bits where those lose less of a sample's vectors than bf16 does.
    void choose_rows(const double* vectors, std::int64_t count, Isa isa);
    // Queries have their signs flipped.
    void flip_signs(float* words, std::int64_t count) const;
    // The same of a direct form: whether its bound covers the row, and the row's share of it
    // (exact::rounded_share).
    bool round_direct(const TileKernels& tiles, const double* row, float* out, double& share) const;
    bool is_centred() const { return direct_.coordinates == exact::Coordinates::rounded; }
    // The terms of a query that is rounded from `vector` with these sums; as a unit vector (of dot
    // and cosine) it had that norm before.
    QueryTerms terms_of(const FilterBound& bound, const double* vector, const RowSums& s,
                        double norm, double more = 0) const;
    QueryTerms cross_entropy_query(const double* row, const TileKernels& tiles, float* out) const;
    QueryTerms product_query(const double* row, const TileKernels& tiles, float* out) const;
    void choose_scale(const MatrixView& points, const DistanceKeys& distance_keys);
    std::int64_t byte_words() const { return bytes_->tiles.padded((form_.d + 3) / 4); }
    bool coarse() const { return bytes_ || projection_; }
    // False where coarse panels do not pay, or the form has none.
    bool choose_coarse(const MatrixView& points, const DistanceKeys& distance_keys, Isa isa,
                       int threads, bool always, const MatrixView* queries,
                       ProgressMeter& progress);
    // What the scale of whole numbers is tried with first: that of the points' form, or of unit
    // vectors.
    RowSums round_bytes(const double* vector, double whole_scale, float* out, float& scale) const {
        return bytes_->round_row(vector, whole_scale, form_.d, out, scale);
    }
    static std::shared_ptr<const Filter> make_of(const MatrixView& points, const MetricSpec& metric,
                                                 Isa isa, int threads, Rounding rounding,
                                                 bool always, std::optional<double> least,
                                                 const MatrixView* queries,
                                                 ProgressMeter& progress);
    // What was packed: points that the bound does not cover, and the largest norm and share of the
    // others.
    struct Packed {
        std::int64_t uncovered = 0;
        bool fractions = false;  // where rows are whole numbers
        double largest = 0, largest_coarse = 0;
        float share = 0;  // of a direct form
    };
    // What a thread packs a panel in: its points, the vectors that are rounded and their
    // coordinates along a projection (of coarse panels), and their words.
    struct PackBuffers {
        explicit PackBuffers(const Filter& filter);
        RowBlock rows;
        Buffer<double> vectors, coordinates;
        Buffer<float> rounded;
    };
    void pack(const MatrixView& points, const DistanceKeys& distance_keys, const TileKernels& tiles,
              std::int64_t panel, PackBuffers& buffers, Packed& packed);
    void pack_coarse(const MatrixView& points, const DistanceKeys& distance_keys,
                     const TileKernels& tiles, std::int64_t panel, PackBuffers& buffers,
                     Packed& packed);
    // phi of a vector with |v|^2 = norm2, whose coordinates are known, to words() words; its sums.
    RowSums round_projected(const TileKernels& tiles, double norm2, double* coordinates,
                            float* out) const;

    RowForm form_;
    Step step_ = Step::dot;
    std::int64_t words_ = 0, row_words_ = 0, panels_ = 0;
    const PairKernels* pairs_ = nullptr;    // for bf16
    const ByteKernels* bytes_ = nullptr;    // for panels of bytes
    const ShortKernels* shorts_ = nullptr;  // for the rows behind coarse panels
    exact::DirectForm direct_;              // where form_.own is none
    exact::RoundedBound rounded_;           // of that
    double points_share_ = 0;               // what queries pay for the points
    FilterBound bound_, coarse_bound_;
    std::optional<Projection> projection_;
    Buffer<float> data_, rows_;
    Buffer<RowTerms> row_terms_;
    std::optional<WholeRows> whole_;  // in place of rows_ and row_terms_
};

}  // namespace kith::cpu
