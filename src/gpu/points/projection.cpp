// How many directions, and whether they pay, by a sample.
#include "gpu/points/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gpu/filter/augmented.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/directions.h"
#include "gpu/points/projection_trial.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/product_f64.h"

namespace kith::gpu {

namespace {

// Rows that directions are made of, rows that they are tried on, and those of them that are queries.
constexpr std::int64_t directed = 2048, tried = 2048, tried_queries = 32;

// What is tried: columns whose vectors, with the remainder, are whole K-tiles of the fused filter.
std::vector<int> choices_of(std::int64_t width, std::int64_t rows) {
    std::vector<int> out;
    for (const int columns : {63, 127, 191, 255})
        if (2 * columns <= width && 4 * columns <= rows) out.push_back(columns);
    return out;
}

// Whether a filter has vectors of one term of products, which can be projected.
bool can_project(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0 && form.width <= tuning::most_projected_width;
}

// P'P of the columns that were found.
class Gram {
public:
    Gram(const Columns& columns, cudaStream_t stream) : columns_(columns.columns) {
        const Buffer<double> squares(columns_ * columns_, stream);
        gram(columns, {squares.get(), columns_, columns_, columns_}, stream);
        values_ = fetched(squares, stream);
    }
    // Columns that the ones before span are 0, and of no use; nor are what follows them.
    std::int64_t usable() const {
        std::int64_t usable = 0;
        while (usable < columns_ && std::abs(at(usable, usable) - 1) < 0.5) ++usable;
        return usable;
    }
    // The sum of the squares of P'P - I, of the first columns.
    double defect2(std::int64_t first) const {
        double sum = 0;
        for (std::int64_t i = 0; i < first; ++i)
            for (std::int64_t j = 0; j < first; ++j) {
                const double e = at(i, j) - (i == j ? 1 : 0);
                sum += e * e;
            }
        return sum;
    }

private:
    double at(std::int64_t i, std::int64_t j) const { return values_[static_cast<std::size_t>(i * columns_ + j)]; }

    std::int64_t columns_;
    std::vector<double> values_;
};

// The choice with which a search is cheapest, or their number where none saves enough and it is not wanted `always`.
std::size_t cheapest(const std::vector<int>& choices, const std::vector<double>& shares, std::int64_t width,
                     bool always) {
    std::size_t best = choices.size();
    double least =
        always ? std::numeric_limits<double>::infinity() : tuning::largest_projected_share * tuning::pair_cost(width);
    for (std::size_t c = 0; c < choices.size(); ++c) {
        const double cost = tuning::pair_cost(choices[c] + 1) + shares[c] * tuning::reread_cost(width);
        if (!(cost < least)) continue;
        least = cost;
        best = c;
    }
    return best;
}

}  // namespace

std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, bool always,
                                                cudaStream_t stream) {
    const FilterForm& form = filter.form;
    const std::int64_t made_of = std::min(directed, n / 2), others = std::min(tried, n - made_of);
    const std::vector<int> choices = choices_of(form.width, made_of);
    if (choices.empty() || others < tried_queries || !can_project(form)) return std::nullopt;
    const auto* const rows = reinterpret_cast<const __half*>(filter.vectors.get());
    const __half* const other_rows = rows + made_of * form.width;
    const std::int64_t most = choices.back(), stride = (most + 63) / 64 * 64;
    Buffer<double> matrix(form.width * stride, stream);
    const Buffer<double> along(others * stride, stream);
    const Columns columns{matrix.get(), form.width, most, stride};
    find_directions(rows, made_of, columns, stream);
    product(Operand<__half>{other_rows, others, form.width, form.width, 1}, matrix.get(), stride, most, along.get(),
            stride, stream);
    ProjectionTrial trial{.rows = other_rows,
                          .count = others,
                          .depth = form.width,
                          .queries = tried_queries,
                          .along = along.get(),
                          .stride = stride,
                          .choices = static_cast<int>(choices.size()),
                          .columns = {},
                          .square = form.gemm == metric::Gemm::l2};
    std::copy(choices.begin(), choices.end(), trial.columns);
    const std::vector<double> shares = passing_shares(trial, n, stream);
    const Gram squares(columns, stream);
    const std::size_t best = cheapest(choices, shares, form.width, always);
    const std::int64_t usable = squares.usable();
    if (best == choices.size() || usable == 0) return std::nullopt;
    ProjectedVectors out;
    out.share = shares[best];
    out.matrix = std::move(matrix);
    Directions& directions = out.directions;
    directions.matrix = out.matrix.get();
    directions.depth = form.width;
    directions.columns = std::min<std::int64_t>(choices[best], usable);
    directions.stride = stride;
    directions.error = exact::ProjectionError(squares.defect2(directions.columns), form.width, directions.columns);
    directions.form = form;
    directions.form.centre = nullptr;
    directions.form.factor = {};
    directions.form.width = projected_width(directions.columns);
    directions.form.gamma = filter_gamma(directions.form.width + augmented_step);
    out.vectors = Buffer<char>(vector_bytes(directions.form, n), stream);
    out.half_norm = Buffer<float>(whole_tiles(n), stream);
    project_points(directions, rows, filter.half_norm.get(), n, reinterpret_cast<__half*>(out.vectors.get()),
                   out.half_norm.get(), stream);
    return out;
}

}  // namespace kith::gpu
