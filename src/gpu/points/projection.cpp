// How many directions, and whether they pay, by a sample.
#include "gpu/points/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gpu/filter/augmented.h"
#include "gpu/filter/bytes.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/byte_form.h"
#include "gpu/points/directions.h"
#include "gpu/points/projection_trial.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/product_f64.h"

namespace kith::gpu {

namespace {

// Rows that directions are made of, rows that they are tried on, and those of them that are queries.
constexpr std::int64_t directed = 2048, tried = 2048, tried_queries = 32;
// Coordinates that a step of 8 bits follows from, about.
constexpr std::int64_t measured = 1 << 14;

// What is tried: columns whose vectors, with the remainder, are whole K-tiles of the fused filter.
std::vector<int> columns_of(std::int64_t width, std::int64_t rows) {
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

// One choice after the other, and what the cheapest of them makes of the points.
class Projecting {
public:
    Projecting(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices, cudaStream_t stream)
        : filter_(filter),
          form_(filter.form),
          n_(n),
          made_of_(std::min(directed, n / 2)),
          others_(std::min(tried, n - made_of_)),
          stream_(stream) {
        if (others_ < tried_queries || !can_project(form_)) return;
        if (choices.directions) columns_ = columns_of(form_.width, made_of_);
        if (choices.bytes && byte_width(form_.width) <= most_byte_width) choose_bytes_of_rows();
        if (columns_.empty() && bytes_.step == 0) return;
        if (!columns_.empty()) direct();
        shares_ = shares();
        best_ = cheapest(choices.always);
    }

    std::optional<ProjectedVectors> found() {
        if (best_ < 0) return std::nullopt;
        ProjectedVectors out;
        Directions& directions = out.directions;
        directions.depth = form_.width;
        directions.form = form_;
        directions.form.centre = nullptr;
        directions.form.factor = {};
        out.share = shares_[static_cast<std::size_t>(best_)];
        if (!(best_ == std::ssize(columns_) ? use_bytes(out) : use_columns(out))) return std::nullopt;
        out.vectors = Buffer<char>(vector_bytes(directions.form, n_), stream_);
        out.half_norm = Buffer<float>(whole_tiles(n_), stream_);
        project_points(directions, rows(), filter_.half_norm.get(), n_, out.vectors.get(), out.half_norm.get(),
                       stream_);
        if (directions.bytes && byte_width(directions.columns) <= most_augmented_bytes) add_terms(out);
        return out;
    }

private:
    // Where half norms reach further than terms do, but for a few.
    void add_terms(ProjectedVectors& out) const {
        const auto* const half_norm = reinterpret_cast<const int*>(out.half_norm.get());
        const ByteRange range = byte_range(half_norm, n_, stream_);
        if (range.always > 0 || range.beyond > n_ / tuning::one_beyond) return;
        out.base = range.base();
        out.terms = Buffer<char>(whole_tiles(n_) * byte_terms, stream_);
        augment_byte_points(half_norm, whole_tiles(n_), out.base, out.terms.get(), stream_);
    }

    const __half* rows() const { return reinterpret_cast<const __half*>(filter_.vectors.get()); }
    const __half* other_rows() const { return rows() + made_of_ * form_.width; }

    // Of the vectors' own coordinates, or of these turned, where their sizes differ so much that one step does not suit
    // all.
    void choose_bytes_of_rows() {
        const std::int64_t width = form_.width,
                           count = std::min(std::clamp<std::int64_t>(measured / width, 8, 256), others_);
        std::vector<__half> halves(static_cast<std::size_t>(count * width));
        InFlight copy(stream_);
        check(cudaMemcpyAsync(halves.data(), other_rows(), halves.size() * sizeof(__half), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("sample");
        std::vector<double> sample(halves.size());
        std::ranges::transform(halves, sample.begin(), [](__half x) { return static_cast<double>(__half2float(x)); });
        bytes_ = choose_bytes(sample, count, width);
        if (bytes_.step == 0 || bytes_.kappa <= tuning::uneven_kappa || width > tuning::most_turned_width) return;
        turned_stride_ = (width + 63) / 64 * 64;
        rotation_ = Buffer<double>(width * turned_stride_, stream_);
        find_rotation(rotation(), stream_);
        const Buffer<double> along(count * width, stream_);
        product(Operand<__half>{other_rows(), count, width, width, 1}, rotation_.get(), turned_stride_, width,
                along.get(), width, stream_);
        ChosenBytes turned = choose_bytes(fetched(along, stream_), count, width);
        is_turned_ = turned.step > 0 && turned.kappa < tuning::turned_share * bytes_.kappa;
        if (is_turned_) bytes_ = std::move(turned);
    }
    Columns rotation() const { return {rotation_.get(), form_.width, form_.width, turned_stride_}; }
    // The directions, and the coordinates of the rows that they are tried on.
    void direct() {
        const std::int64_t most = columns_.back();
        stride_ = (most + 63) / 64 * 64;
        matrix_ = Buffer<double>(form_.width * stride_, stream_);
        along_ = Buffer<double>(others_ * stride_, stream_);
        find_directions(rows(), made_of_, {matrix_.get(), form_.width, most, stride_}, stream_);
        product(Operand<__half>{other_rows(), others_, form_.width, form_.width, 1}, matrix_.get(), stride_, most,
                along_.get(), stride_, stream_);
    }
    // By how much values of 8 bits may lie below those of all coordinates: what two typical rows leave.
    double slack() const {
        if (bytes_.step == 0) return -1;
        return bytes_.slack;
    }
    std::vector<double> shares() const {
        ProjectionTrial trial{.rows = other_rows(),
                              .count = others_,
                              .depth = form_.width,
                              .queries = tried_queries,
                              .along = along_.get(),
                              .stride = stride_,
                              .choices = static_cast<int>(columns_.size()),
                              .columns = {},
                              .slack = slack(),
                              .square = form_.gemm == metric::Gemm::l2};
        std::copy(columns_.begin(), columns_.end(), trial.columns);
        return passing_shares(trial, n_, stream_);
    }
    // The choice with which a search is cheapest, bytes behind the columns; -1 where none saves enough and it is not
    // wanted `always`.
    int cheapest(bool always) const {
        int best = -1;
        double least = std::numeric_limits<double>::infinity();
        const double all = tuning::filter_pair_cost(form_.width), candidate = tuning::reread_cost(form_.width);
        const auto compare = [&](std::size_t choice, double pair, double most) {
            const double cost = pair + shares_[choice] * candidate;
            if (!always && cost >= most * all) return;
            if (!(cost < least)) return;
            least = cost;
            best = static_cast<int>(choice);
        };
        for (std::size_t c = 0; c < columns_.size(); ++c)
            compare(c, tuning::pair_cost(columns_[c] + 1), tuning::largest_projected_share);
        if (bytes_.step > 0)
            compare(columns_.size(), tuning::byte_pair_cost(byte_width(form_.width)), tuning::largest_byte_share);
        return best;
    }

    bool use_columns(ProjectedVectors& out) {
        Directions& directions = out.directions;
        const Gram squares({matrix_.get(), form_.width, columns_.back(), stride_}, stream_);
        const std::int64_t usable = squares.usable();
        if (usable == 0) return false;
        directions.columns = std::min<std::int64_t>(columns_[static_cast<std::size_t>(best_)], usable);
        directions.stride = stride_;
        directions.error = exact::ProjectionError(squares.defect2(directions.columns), form_.width, directions.columns);
        directions.form.width = projected_width(directions.columns);
        directions.form.gamma = filter_gamma(directions.form.width + augmented_step);
        out.matrix = std::move(matrix_);
        directions.matrix = out.matrix.get();
        return true;
    }
    bool use_bytes(ProjectedVectors& out) {
        Directions& directions = out.directions;
        directions.columns = form_.width;
        if (is_turned_) {
            const Gram squares(rotation(), stream_);
            if (squares.usable() < form_.width) return false;
            directions.error = exact::ProjectionError(squares.defect2(form_.width), form_.width, form_.width);
            directions.stride = turned_stride_;
            out.matrix = std::move(rotation_);
            directions.matrix = out.matrix.get();
        }
        directions.form.width = byte_width(form_.width) / 2;
        out.shift = Buffer<double>(form_.width, stream_);
        InFlight reading(stream_);
        check(cudaMemcpyAsync(out.shift.get(), bytes_.shift.data(), bytes_.shift.size() * sizeof(double),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        reading.wait("sample");
        directions.bytes = {.step = bytes_.step,
                            .shift = out.shift.get(),
                            .shift_norm = std::sqrt(std::inner_product(bytes_.shift.begin(), bytes_.shift.end(),
                                                                       bytes_.shift.begin(), 0.0)),
                            .kappa = bytes_.kappa};
        return true;
    }

    const FilterVectors& filter_;
    const FilterForm& form_;
    std::int64_t n_, made_of_, others_;
    cudaStream_t stream_;
    std::vector<int> columns_;
    ChosenBytes bytes_;
    bool is_turned_ = false;
    std::int64_t stride_ = 0, turned_stride_ = 0;
    Buffer<double> matrix_, along_, rotation_;
    std::vector<double> shares_;
    int best_ = -1;
};

}  // namespace

std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices,
                                                cudaStream_t stream) {
    return Projecting(filter, n, choices, stream).found();
}

}  // namespace kith::gpu
