// How many directions, and whether they pay, by a sample.
#include "gpu/points/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exact/power_law.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/directions.h"
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

// Shares of the sample's rows that pass with each of the choices, as `values` of trial_values() say.
std::vector<double> shares_of(const std::vector<float>& values, std::int64_t count, std::size_t choices,
                              std::int64_t n) {
    std::vector<double> shares(choices, 0.0), all;
    const std::size_t stride = choices + 2;
    for (std::int64_t i = 0; i < tried_queries; ++i) {
        const float* const of = values.data() + static_cast<std::size_t>(i * count) * stride;
        const std::int64_t self = i * count / tried_queries;
        all.clear();
        double least = std::numeric_limits<double>::infinity();
        for (std::int64_t x = 0; x < count; ++x) {
            const float* const own = of + static_cast<std::size_t>(x) * stride;
            if (x != self) all.push_back(static_cast<double>(own[0]));
            least = std::min(least, static_cast<double>(own[choices + 1]));
        }
        const double rank = tuning::expected_neighbours * static_cast<double>(all.size()) / static_cast<double>(n);
        const double threshold = exact::value_at_rank(all, least, rank);
        for (std::size_t c = 0; c < choices; ++c) {
            std::int64_t passed = 0;
            for (std::int64_t x = 0; x < count; ++x)
                passed +=
                    x != self && static_cast<double>(of[static_cast<std::size_t>(x) * stride + c + 1]) <= threshold;
            shares[c] += static_cast<double>(passed) / static_cast<double>(count * tried_queries);
        }
    }
    return shares;
}

}  // namespace

bool can_project(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0;
}

std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, bool always,
                                                cudaStream_t stream) {
    const FilterForm& form = filter.form;
    const std::int64_t made_of = std::min(directed, n / 2), others = std::min(tried, n - made_of);
    const std::vector<int> choices = choices_of(form.width, made_of);
    if (choices.empty() || others < tried_queries || !can_project(form) || form.width > tuning::projected_width)
        return std::nullopt;
    const auto* const rows = reinterpret_cast<const __half*>(filter.vectors.get());
    const std::int64_t most = choices.back(), stride = (most + 63) / 64 * 64;
    Buffer<double> matrix(form.width * stride, stream), along(others * stride, stream);
    const Columns columns{matrix.get(), form.width, most, stride};
    find_directions(rows, made_of, columns, stream);
    product(Operand<__half>{rows + made_of * form.width, others, form.width, form.width, 1}, matrix.get(), stride, most,
            along.get(), stride, stream);
    TrialTask trial{.rows = rows + made_of * form.width,
                    .count = others,
                    .depth = form.width,
                    .queries = tried_queries,
                    .along = along.get(),
                    .stride = stride,
                    .choices = static_cast<int>(choices.size()),
                    .columns = {},
                    .square = form.gemm == metric::Gemm::l2};
    std::copy(choices.begin(), choices.end(), trial.columns);
    Buffer<float> values(tried_queries * others * (trial.choices + 2), stream);
    trial_values(trial, values.get(), stream);
    Buffer<double> squares(most * most, stream);
    gram(columns, {squares.get(), most, most, most}, stream);
    const std::vector<float> tried_values = fetched(values, stream);
    const std::vector<double> g = fetched(squares, stream);
    // Columns that the ones before span are 0, and of no use; nor are what follows them.
    const auto square = [&](std::int64_t i, std::int64_t j) { return g[static_cast<std::size_t>(i * most + j)]; };
    std::int64_t usable = 0;
    while (usable < most && std::abs(square(usable, usable) - 1) < 0.5) ++usable;
    const std::vector<double> shares = shares_of(tried_values, others, choices.size(), n);
    std::size_t best = choices.size();
    double least = always ? std::numeric_limits<double>::infinity()
                          : tuning::largest_projected_share * tuning::pair_cost(form.width);
    for (std::size_t c = 0; c < choices.size(); ++c) {
        const double cost = tuning::pair_cost(choices[c] + 1) + shares[c] * tuning::reread_cost(form.width);
        if (!(cost < least)) continue;
        least = cost;
        best = c;
    }
    if (best == choices.size() || usable == 0) return std::nullopt;
    ProjectedVectors out;
    out.share = shares[best];
    out.matrix = std::move(matrix);
    Directions& directions = out.directions;
    directions.matrix = out.matrix.get();
    directions.depth = form.width;
    directions.columns = std::min<std::int64_t>(choices[best], usable);
    directions.stride = stride;
    double defect2 = 0;
    for (std::int64_t i = 0; i < directions.columns; ++i)
        for (std::int64_t j = 0; j < directions.columns; ++j) {
            const double e = square(i, j) - (i == j ? 1 : 0);
            defect2 += e * e;
        }
    set_errors(directions, std::sqrt(defect2));
    directions.form = form;
    directions.form.centre = nullptr;
    directions.form.factor = {};
    directions.form.width = projected_width(directions.columns);
    directions.form.gamma = filter_gamma(directions.form.width);
    out.vectors = Buffer<char>(vector_bytes(directions.form, n), stream);
    out.half_norm = Buffer<float>(whole_tiles(n), stream);
    project_points(directions, rows, filter.half_norm.get(), n, reinterpret_cast<__half*>(out.vectors.get()),
                   out.half_norm.get(), stream);
    return out;
}

}  // namespace kith::gpu
