// The filter's points: rounded to f32, packed in panels, each with the terms of its bound.
#pragma once

#include <memory>
#include <vector>

#include "cpu/filter_bound.h"
#include "cpu/points.h"
#include "cpu/ranker.h"

namespace kith::cpu {

class Filter {
public:
    // Null where the bound would hold for too few points to be of use.
    static std::shared_ptr<const Filter> make(const Points& points, Isa isa, int threads);

    Step step() const { return step_; }
    std::int64_t panels() const { return panels_; }
    const float* panel(std::int64_t i) const { return data_.data() + i * panel_floats(d_); }

    // The filter's form of query row i of `block`: its coordinates, signs as the step wants them, and its terms.
    QueryTerms query(const RowBlock& block, std::int64_t i, const TileKernels& tiles, float* out) const;

private:
    bool choose_centre(const Points& points, const Ranker& ranker);
    // Packs one panel; returns how many of its points the bound does not cover.
    std::int64_t pack(const Points& points, const Ranker& ranker, const TileKernels& tiles, std::int64_t panel,
                      RowBlock& rows, float* rounded);

    metric::Gemm form_ = metric::Gemm::none;
    Step step_ = Step::dot;
    std::int64_t d_ = 0, panels_ = 0;
    FilterBound bound_;
    std::vector<double> centre_;
    double scale_ = 1;
    Buffer<float> data_;
};

}  // namespace kith::cpu
