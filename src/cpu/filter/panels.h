// The filter's points: rounded to f32 or bf16 and packed in panels, each with the terms of its
// bound. Coarse panels hold PCA projections or int8 coordinates; more precise full-dimensional rows
// rescore their candidates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/projection.h"
#include "cpu/filter/row_form.h"
#include "cpu/filter/whole_rows.h"
#include "cpu/metric/distance_keys.h"
#include "exact/report/progress.h"

namespace kith::cpu {

class Filter {
public:
    // Builds the filter. Null where the bound would cover too few points to be of use.
    // Rounding::bf16 needs pair_kernels() and a metric of a matrix-product form. `always`: makes
    // coarse panels even where a sample predicts no gain. `queries`, if not null, are the queries
    // that the gain is estimated with; otherwise some of the points serve. Polls `progress` as
    // stage "prepare" and throws when it is cancelled.
    static std::shared_ptr<const Filter> make(const MatrixView& points, const MetricSpec& metric,
                                              Isa isa, int threads, Rounding rounding, bool always,
                                              ProgressMeter& progress,
                                              const MatrixView* queries = nullptr);

    // The tiles that read this filter's panels.
    const Tiles& tiles(const TileKernels& kernels) const {
        return bytes_ ? bytes_->tiles : pairs_ ? pairs_->tiles : kernels.of_step[step()];
    }
    // 32-bit words per point in a panel, and per query in tiles.
    std::int64_t words() const { return words_; }
    std::int64_t query_words() const { return words_ + (bytes_ ? bytes_->tiles.header : 0); }
    // The exponent argument of the tiles.
    float exponent() const { return direct_.exponent; }
    std::int64_t panels() const { return panels_; }
    const float* panel(std::int64_t i) const { return data_.data() + i * panel_floats(words_); }

    // 32-bit words of a full-dimensional row.
    std::int64_t row_words() const { return row_words_; }
    // Rows that coarse panels rescore from: a point's full-dimensional words, its terms, and its
    // value for a query's words; or its 8-bit integers (null: none).
    const WholeRows* whole_rows() const { return whole_ ? &*whole_ : nullptr; }
    const float* row(std::int64_t id) const { return rows_.data() + id * row_words(); }
    const RowTerms& row_terms(std::int64_t id) const { return row_terms_[id]; }
    // Words that query() writes for row_value(). A query of int16 rows stores its scale after the
    // words.
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

    // Converts query row i of `block` to the filter's form, with signs as the step expects them,
    // and returns its terms. Writes row_words(); `out` has room for d words, or row_query_words()
    // with coarse panels. With coarse panels the terms are those of the rows.
    QueryTerms query(const RowBlock& block, std::int64_t i, const TileKernels& tiles,
                     float* out) const;
    // Coarse panels only: writes query_words() for each of the `count` rows of `block`, and the
    // terms of the panels' values.
    void coarse_queries(const RowBlock& block, std::int64_t count, const TileKernels& tiles,
                        float* out, QueryTerms* terms) const;

private:
    static constexpr std::int64_t cache_line_words = 16;
    int step() const { return static_cast<int>(step_); }
    int word_coordinates() const { return pairs_ ? 2 : exact::coordinates_per_word(direct_); }
    std::int64_t words_of(std::int64_t coordinates) const {
        return (coordinates + word_coordinates() - 1) / word_coordinates();
    }
    // Rounds a row that the metric's map() has been applied to: all coordinates, or the first
    // `coordinates` of them.
    RowSums round(const TileKernels& tiles, const double* row, const double* centre, double scale,
                  float* out) const {
        return round(tiles, row, centre, scale, form_.d, out);
    }
    RowSums round(const TileKernels& tiles, const double* row, const double* centre, double scale,
                  std::int64_t coordinates, float* out) const;
    // Likewise for a query, rounded as rows are; an int16 query stores its scale after the words.
    RowSums round_query(const TileKernels& tiles, const double* row, const double* centre,
                        double scale, float* out) const;
    // Chooses int16 rows if they lose less of a sample's vectors than bf16 does.
    void choose_rows(const double* vectors, std::int64_t count, Isa isa);
    // Flips the signs of a query's words.
    void flip_signs(float* words, std::int64_t count) const;
    // Rounds a row of a direct form. Returns whether the bound covers the row; `share` is the row's
    // share of the bound (exact::rounded_share).
    bool round_direct(const TileKernels& tiles, const double* row, float* out, double& share) const;
    bool is_centred() const { return direct_.coordinates == exact::Coordinates::rounded; }
    // The terms of a query rounded from `vector`, with sums `s`. `norm` is its norm before it was
    // made a unit vector (dot and cosine).
    QueryTerms terms_of(const FilterBound& bound, const double* vector, const RowSums& s,
                        double norm, double more = 0) const;
    QueryTerms cross_entropy_query(const double* row, const TileKernels& tiles, float* out) const;
    QueryTerms product_query(const double* row, const TileKernels& tiles, float* out) const;
    void choose_scale(const MatrixView& points, const DistanceKeys& distance_keys);
    std::int64_t byte_words() const { return bytes_->tiles.padded((form_.d + 3) / 4); }
    bool coarse() const { return bytes_ || projection_; }
    // Returns false where coarse panels do not pay, or the form has none.
    bool choose_coarse(const MatrixView& points, const DistanceKeys& distance_keys, Isa isa,
                       int threads, bool always, const MatrixView* queries,
                       ProgressMeter& progress);
    // Quantizes a vector to int8. It tries `whole_scale` first: the scale of the points' form, or
    // that of unit vectors.
    RowSums round_bytes(const double* vector, double whole_scale, float* out, float& scale) const {
        return bytes_->round_row(vector, whole_scale, form_.d, out, scale);
    }
    static std::shared_ptr<const Filter> make_of(const MatrixView& points, const MetricSpec& metric,
                                                 Isa isa, int threads, Rounding rounding,
                                                 bool always, std::optional<double> least,
                                                 const MatrixView* queries,
                                                 ProgressMeter& progress);
    // Result of packing: the number of points that the bound does not cover, and the largest norm
    // and share of the others.
    struct Packed {
        std::int64_t uncovered = 0;
        bool fractions = false;  // rows of integers: some row has fractions
        double largest = 0, largest_coarse = 0;
        float share = 0;  // direct forms
    };
    // Buffers of a thread that packs a panel: its points, the vectors to round, their PCA
    // projections (coarse panels), and their words.
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
    // Completes the known coordinates of a vector with |v|^2 = norm2 to phi(v), rounds it to
    // words() words, and returns its sums.
    RowSums round_projected(const TileKernels& tiles, double norm2, double* coordinates,
                            float* out) const;

    RowForm form_;
    Step step_ = Step::dot;
    std::int64_t words_ = 0, row_words_ = 0, panels_ = 0;
    const PairKernels* pairs_ = nullptr;    // for bf16
    const ByteKernels* bytes_ = nullptr;    // for int8 panels
    const ShortKernels* shorts_ = nullptr;  // for int16 rows that coarse panels rescore from
    exact::DirectForm direct_;              // used if form_.own is none
    exact::RoundedBound rounded_;           // error bound of direct_
    double points_share_ = 0;               // added to each query's terms on behalf of the points
    FilterBound bound_, coarse_bound_;
    std::optional<Projection> projection_;
    Buffer<float> data_, rows_;
    Buffer<RowTerms> row_terms_;
    std::optional<WholeRows> whole_;  // replaces rows_ and row_terms_
};

}  // namespace kith::cpu
