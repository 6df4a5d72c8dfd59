// The filter's points: rounded to f32 or bf16, packed in panels, each with the terms of its bound.
#pragma once

#include <memory>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/metric/distance_keys.h"
#include "exact/factor.h"
#include "exact/progress.h"

namespace kith::cpu {

class Filter {
public:
    // Polls `progress` as stage "prepare" and throws where it is cancelled.
    // Null where the bound would hold for too few points to be of use. Rounding::bf16 needs pair_kernels() and a metric
    // of a matrix-product form.
    static std::shared_ptr<const Filter> make(const MatrixView& points, const MetricSpec& metric, Isa isa, int threads,
                                              Rounding rounding, ProgressMeter& progress);

    // The tiles for panels of this filter, by number of queries, and the most queries that one takes.
    const Tile* tiles(const TileKernels& tiles) const { return pairs_ ? pairs_->tile : tiles.tile[step()]; }
    std::int64_t tile_queries(const TileKernels& tiles) const {
        return pairs_ ? pairs_->queries : tiles.queries[step()];
    }
    // Words of 32 bits that a point or query takes.
    std::int64_t words() const { return words_; }
    // Of its tiles.
    float exponent() const { return direct_.exponent; }
    std::int64_t panels() const { return panels_; }
    const float* panel(std::int64_t i) const { return data_.data() + i * panel_floats(words_); }

    // The filter's form of query row i of `block`: its words (`out` has room for d), signs as the step wants them, and
    // its terms.
    QueryTerms query(const RowBlock& block, std::int64_t i, const TileKernels& tiles, float* out) const;

private:
    int step() const { return static_cast<int>(step_); }
    int word_coordinates() const { return pairs_ ? 2 : exact::coordinates_per_word(direct_); }
    // The words of a row that the metric's map() has been applied to.
    RowSums round(const TileKernels& tiles, const double* row, const double* centre, double scale, float* out) const;
    // The same of a direct form: whether its bound covers the row, and the row's share of it (exact::rounded_share).
    bool round_direct(const TileKernels& tiles, const double* row, float* out, double& share) const;
    bool is_centred() const { return direct_.coordinates == exact::Coordinates::rounded; }
    // Coordinates as the filter's form takes them, in place: unit vectors, logarithms of points. False where the bound
    // does not cover them. `norm` is that of unit vectors before.
    bool make_unit(double* row, double& norm) const;
    bool make_logarithms(const TileKernels& tiles, double* row, std::vector<std::int64_t>& zeros) const;
    // The coordinates less the centre after the factor, in place: what their share of the bound is beside that of l2,
    // NaN where they are not covered.
    double make_factored(const TileKernels& tiles, double* row) const;
    QueryTerms cross_entropy_query(const double* row, const TileKernels& tiles, float* out) const;
    QueryTerms product_query(const double* row, const TileKernels& tiles, float* out) const;
    void choose_scale(const MatrixView& points, const DistanceKeys& distance_keys);
    bool choose_centre(const MatrixView& points, const DistanceKeys& distance_keys, const TileKernels& tiles);
    static std::shared_ptr<const Filter> make_of(const MatrixView& points, const MetricSpec& metric, Isa isa,
                                                 int threads, Rounding rounding, bool centre_units,
                                                 ProgressMeter& progress);
    // What was packed: points that the bound does not cover, and the largest norm and share of the others.
    struct Packed {
        std::int64_t uncovered = 0;
        double largest = 0;
        float share = 0;  // of a direct form
    };
    void pack(const MatrixView& points, const DistanceKeys& distance_keys, const TileKernels& tiles, std::int64_t panel,
              RowBlock& rows, float* rounded, Packed& packed);

    // The metric's form, and the one that the bound and the panels are of: l2 of cosine's unit vectors where these have
    // a common mean, dot of cross entropies.
    metric::Gemm metric_form_ = metric::Gemm::none;
    metric::Gemm form_ = metric::Gemm::none;
    Step step_ = Step::dot;
    std::int64_t d_ = 0, words_ = 0, panels_ = 0;
    const PairKernels* pairs_ = nullptr;  // for bf16
    exact::DirectForm direct_;            // where form_ is none
    exact::RoundedBound rounded_;         // of that
    double points_share_ = 0;             // what queries pay for the points
    FilterBound bound_;
    exact::Factor factor_;  // of a metric that has one
    std::vector<double> centre_, zero_;
    double scale_ = 1;
    Buffer<float> data_;
};

}  // namespace kith::cpu
