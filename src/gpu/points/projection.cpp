// How many directions, and whether they pay, by a sample.
#include "gpu/points/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "gpu/filter/bytes.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/byte_form.h"
#include "gpu/points/directions.h"
#include "gpu/points/gram.h"
#include "gpu/points/projection_trial.h"
#include "gpu/points/sample.h"
#include "gpu/points/tried_columns.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/gather.h"
#include "gpu/primitives/product_f64.h"

namespace kith::gpu {

namespace {

// Rows that directions are made of, rows that they are tried on, and those of them that are queries.
constexpr std::int64_t directed = 2048, tried = 2048, tried_queries = 32;
// Coordinates that a step of 8 bits follows from, about.
constexpr std::int64_t measured = 1 << 14;

// Whether a filter has vectors of one term of products, which can be projected.
bool can_project(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0 && form.width <= tuning::most_projected_width;
}

// One choice after the other, and what the cheapest of them makes of the points.
class Projecting {
public:
    Projecting(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices, cudaStream_t stream,
               const VectorSource* source)
        : filter_(filter),
          form_(filter.form),
          source_(source),
          byte_terms_(choices.byte_terms),
          byte_directions_(choices.byte_directions),
          n_(n),
          made_of_(std::min(directed, n / 2)),
          others_(std::min(tried, n - made_of_)),
          stream_(stream) {
        if (others_ < tried_queries || !can_project(form_)) return;
        if (byte_directions_) columns_ = columns_of(tuning::byte_pass_columns, form_.width, made_of_);
        else if (choices.directions) columns_ = columns_of(tuning::pass_columns, form_.width, made_of_);
        if (choices.bytes && byte_width(form_.width) <= most_byte_width) choose_bytes_of_rows();
        if (columns_.empty() && bytes_.step == 0) return;
        find_columns();
        // Further directions: where leaving out nearly all that passes would be enough.
        const std::vector<int> all = with_stages(columns_, form_.width, made_of_);
        if (choices.most_stages > 0 && all.size() > columns_.size() &&
            (choices.always || choices.least_stages > 0 || stages_may_pay()))
            find_further_columns(all);
        best_ = cheapest(choices);
    }

    std::optional<ProjectedVectors> found() {
        if (!best_) return std::nullopt;
        ProjectedVectors out;
        Directions& directions = out.directions;
        directions.depth = form_.width;
        directions.form = form_;
        directions.form.centre = nullptr;
        directions.form.factor = {};
        out.share = best_->columns == 0 ? shares_.bytes : share(best_->columns);
        if (!(best_->columns == 0 ? use_bytes(out) : use_columns(out))) return std::nullopt;
        out.vectors = Buffer<char>(vector_bytes(directions.form, n_), stream_);
        out.half_norm = Buffer<float>(whole_tiles(n_), stream_);
        add_stages(out);
        FurtherRows further{};
        std::ranges::transform(out.further, further.begin(), [](const Buffer<char>& rows) { return rows.get(); });
        if (source_) project_runs(out);
        else
            project_points(directions, rows(), n_, filter_.half_norm.get(), out.vectors.get(), out.half_norm.get(),
                           further, stream_);
        if (directions.bytes && byte_terms_) out.byte_terms = make_byte_terms(out, n_, 1, stream_);
        out.candidate_cost = candidate_cost(directions);
        return out;
    }

private:
    // Bytes of all rows, in the order in which these come, to their positions.
    void project_runs(ProjectedVectors& out) const {
        const std::int64_t step = std::min(n_, tuning::listed_rows(form_.width));
        const Buffer<char> vectors(vector_bytes(out.directions.form, step), stream_);
        const Buffer<float> half_norm(whole_tiles(step), stream_);
        fill_excluded(out.half_norm.get() + n_, whole_tiles(n_) - n_, stream_);
        for (std::int64_t first = 0; first < n_; first += step) {
            const std::int64_t count = std::min(step, n_ - first);
            const VectorRun run = (*source_)(first, count);
            project_points(out.directions, run.vectors, count, run.half_norm, vectors.get(), half_norm.get(), {},
                           stream_);
            scatter_dense(vectors.get(), run.positions, count, vector_bytes(out.directions.form, 1), out.vectors.get(),
                          stream_);
            scatter_dense(half_norm.get(), run.positions, count, sizeof(float), out.half_norm.get(), stream_);
        }
    }

    const __half* rows() const { return reinterpret_cast<const __half*>(filter_.vectors.get()); }
    const __half* other_rows() const { return rows() + made_of_ * form_.width; }

    // The first of the rows that columns are tried on.
    std::vector<double> rows_of_sample(std::int64_t count) const {
        std::vector<__half> halves(static_cast<std::size_t>(count * form_.width));
        InFlight copy(stream_);
        check(cudaMemcpyAsync(halves.data(), other_rows(), halves.size() * sizeof(__half), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("sample");
        std::vector<double> rows(halves.size());
        std::ranges::transform(halves, rows.begin(), [](__half x) { return static_cast<double>(__half2float(x)); });
        return rows;
    }
    // Of the vectors' own coordinates, or of these turned, where their sizes differ so much that one step does not suit
    // all.
    void choose_bytes_of_rows() {
        const std::int64_t width = form_.width, count = sampled(width);
        bytes_ = choose_bytes(rows_of_sample(count), count, width);
        if (bytes_.step == 0 || bytes_.kappa <= tuning::uneven_kappa || width > tuning::most_turned_width) return;
        turned_stride_ = whole_columns(width);
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
    // The directions of a pass.
    void find_columns() {
        if (!columns_.empty()) {
            have_room(columns_.back());
            find_directions(rows(), made_of_, matrix(columns_.back()), stream_);
        }
        try_columns(columns_);
    }
    // And those of stages, behind as many of these as are of use.
    void find_further_columns(const std::vector<int>& all) {
        const std::int64_t usable = Gram(matrix(columns_.back()), stream_).usable(), stride = stride_;
        if (usable == 0) return;
        const Buffer<double> known = std::move(matrix_);
        have_room(all.back());
        copy_columns(known.get(), stride, matrix_.get(), stride_, usable);
        find_further_directions(rows(), made_of_, matrix(usable),
                                {matrix_.get() + usable, form_.width, all.back() - usable, stride_}, stream_);
        try_columns(all);
    }
    void have_room(std::int64_t columns) {
        stride_ = whole_columns(columns);
        matrix_ = Buffer<double>(form_.width * stride_, stream_);
        along_ = Buffer<double>(others_ * stride_, stream_);
    }
    static std::int64_t whole_columns(std::int64_t columns) { return (columns + 63) / 64 * 64; }
    Columns matrix(std::int64_t columns) const { return {matrix_.get(), form_.width, columns, stride_}; }
    // Columns of a matrix to another, by the strides of both.
    void copy_columns(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                      std::int64_t columns) const {
        constexpr auto element = sizeof(double);
        check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride) * element, from,
                                static_cast<std::size_t>(from_stride) * element,
                                static_cast<std::size_t>(columns) * element, static_cast<std::size_t>(form_.width),
                                cudaMemcpyDefault, stream_),
              "cudaMemcpy");
    }
    // The coordinates of the rows that columns are tried on, and what of these passes.
    void try_columns(const std::vector<int>& tried) {
        tried_ = tried;
        if (!tried.empty())
            product(Operand<__half>{other_rows(), others_, form_.width, form_.width, 1}, matrix_.get(), stride_,
                    tried.back(), along_.get(), stride_, stream_);
        shares_ = shares();
    }
    // Coordinates of some of the rows that columns are tried on, row-major.
    std::vector<double> coordinates(std::int64_t rows, std::int64_t first, std::int64_t count) const {
        std::vector<double> out(static_cast<std::size_t>(rows * count));
        const auto width = static_cast<std::size_t>(count) * sizeof(double);
        InFlight copy(stream_);
        check(cudaMemcpy2DAsync(out.data(), width, along_.get() + first,
                                static_cast<std::size_t>(stride_) * sizeof(double), width,
                                static_cast<std::size_t>(rows), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("sample");
        return out;
    }
    std::int64_t sampled(std::int64_t columns) const {
        return std::min(std::clamp<std::int64_t>(measured / columns, 8, 256), others_);
    }
    // By how much values of directions in 8 bits may lie below those of directions.
    double direction_slack() const {
        if (!byte_directions_ || columns_.empty()) return 0;
        const std::int64_t columns = columns_.back(), rows = std::min<std::int64_t>(256, others_);
        const std::vector<double> sample = coordinates(rows, 0, columns);
        double all = 0, beyond = 0;
        for (std::int64_t c = 0; c < columns; ++c) {
            double sum = 0, squares = 0;
            for (std::int64_t r = 0; r < rows; ++r) {
                const double x = sample[static_cast<std::size_t>(r * columns + c)];
                sum += x;
                squares += x * x;
            }
            const double variance = (squares - sum * sum / static_cast<double>(rows)) / static_cast<double>(rows);
            all += variance;
            if (c >= LeadingDirections::most) beyond += variance;
        }
        return tuning::direction_slack * std::sqrt(all * std::max(beyond, 0.0));
    }
    PassingShares shares() const {
        ProjectionTrial trial{.rows = other_rows(),
                              .count = others_,
                              .depth = form_.width,
                              .queries = tried_queries,
                              .along = along_.get(),
                              .stride = stride_,
                              .choices = static_cast<int>(tried_.size()),
                              .columns = {},
                              .slack = bytes_.slack,
                              .direction_slack = direction_slack(),
                              .square = form_.gemm == metric::Gemm::l2 && !form_.shifts_products(),
                              .half_norm = form_.shifts_products() ? filter_.half_norm.get() + made_of_ : nullptr};
        std::copy(tried_.begin(), tried_.end(), trial.columns);
        return passing_shares(trial, n_, stream_);
    }
    // Of the points, what so many columns leave.
    double share(int columns) const {
        const auto at = std::ranges::find(tried_, columns) - tried_.begin();
        return shares_.columns[static_cast<std::size_t>(at)];
    }
    // Numbers of a row in 8 bits: what phi has, and twice the leading directions, in whole K-tiles.
    static std::int64_t byte_numbers(std::int64_t columns) {
        return (columns + 1 + 2 * LeadingDirections::most + 127) / 128 * 128;
    }
    double pass_cost(int columns) const {
        return byte_directions_ ? tuning::byte_pair_cost(byte_numbers(columns)) : tuning::pair_cost(columns + 1);
    }
    double all_cost() const { return tuning::filter_pair_cost(form_.width); }
    // Whether a search would be cheap enough if one stage left nothing.
    bool stages_may_pay() const {
        return std::ranges::any_of(columns_, [&](int columns) {
            return pass_cost(columns) + share(columns) * stage_cost(columns, 0) <
                   tuning::largest_projected_share * all_cost();
        });
    }
    // Columns of a pass with those of stages behind it.
    int behind(int columns, int stages) const { return tuning::columns_with_stages(columns, stages, form_.width); }
    // What looking at a candidate's row of a stage takes.
    double stage_cost(int columns, int stage) const {
        return tuning::further_cost(behind(columns, stage + 1) - behind(columns, stage));
    }
    // Columns of a pass, 0 for all coordinates, which are in 8 bits then, and stages behind it.
    struct Choice {
        int columns = 0, stages = 0;
    };
    // That with which a search is cheapest; none where none saves enough and it is not wanted always.
    std::optional<Choice> cheapest(const ProjectionChoices& choices) const {
        std::optional<Choice> best;
        double least = std::numeric_limits<double>::infinity();
        const double row = tuning::reread_cost(form_.width);
        const auto compare = [&](Choice choice, double cost, double most) {
            if ((!choices.always && cost >= most * all_cost()) || !(cost < least)) return;
            least = cost;
            best = choice;
        };
        for (const int columns : columns_) {
            if (choices.columns > 0 && columns != choices.columns) continue;
            double stages = share(columns) * tuning::append_cost;
            for (int stage = 0; stage <= choices.most_stages; ++stage) {
                const int all = behind(columns, stage);
                if (std::ranges::find(tried_, all) == tried_.end()) break;
                if (stage >= choices.least_stages)
                    compare({columns, stage}, pass_cost(columns) + stages + share(all) * row,
                            tuning::largest_projected_share);
                if (stage < choices.most_stages) stages += share(all) * stage_cost(columns, stage);
            }
        }
        if (bytes_.step > 0)
            compare({}, tuning::byte_pair_cost(byte_width(form_.width)) + shares_.bytes * row,
                    tuning::largest_byte_share);
        return best;
    }
    // What looking at a candidate takes, by the stages that there are.
    double candidate_cost(const Directions& directions) const {
        const double row = tuning::reread_cost(form_.width);
        if (directions.stages == 0) return row;
        const auto left = [&](int stage) {
            return share(behind(best_->columns, stage)) / std::max(share(best_->columns), 1e-12);
        };
        double cost = left(directions.stages) * row;
        for (int stage = 0; stage < directions.stages; ++stage) cost += left(stage) * stage_cost(best_->columns, stage);
        return cost;
    }

    bool use_columns(ProjectedVectors& out) {
        Directions& directions = out.directions;
        const Gram squares(matrix(tried_.back()), stream_);
        const std::int64_t usable = squares.usable();
        if (usable == 0) return false;
        directions.columns = std::min<std::int64_t>(best_->columns, usable);
        while (directions.stages < best_->stages && directions.all_columns() < usable) {
            const std::int64_t first = directions.all_columns(),
                               count = std::min<std::int64_t>(
                                   tuning::stage_columns[static_cast<std::size_t>(directions.stages)], usable - first);
            // What rounding alone has made of columns costs more than they say.
            if (squares.defect2(first + count) > tuning::largest_defect2) break;
            directions.further[directions.stages++] = {.first = first, .count = count};
        }
        const std::int64_t all = directions.all_columns();
        const Buffer<double> memory(form_.width * all, stream_);
        const Columns kept{memory.get(), form_.width, all, all};
        if (byte_directions_) {
            if (!use_byte_columns(out, kept)) return false;
        } else {
            copy_columns(matrix_.get(), stride_, kept.data, all, directions.columns);
            directions.form.width = projected_width(directions.columns);
            directions.form.gamma = filter_gamma(directions.form.width);
        }
        for (int stage = 0; stage < directions.stages; ++stage) {
            FurtherColumns& further = directions.further[stage];
            const std::int64_t rows = sampled(further.count);
            const std::vector<double> sample = turned(further.first, further.count, rows, kept).along;
            further.step = choose_four_bits(sample);
            further.query_step = choose_bytes(sample, rows, further.count).step;
            // Columns that no row of the sample has anything along.
            if (!(further.step > 0 && further.query_step > 0)) directions.stages = stage;
        }
        keep({kept.data, form_.width, directions.all_columns(), all}, out);
        return true;
    }
    // Columns turned, so that one step suits all of them, to the same place of the kept ones; how they were turned, and
    // what rows of the sample have along them.
    struct Turned {
        Buffer<double> turns;
        std::vector<double> along;
    };
    Turned turned(std::int64_t first, std::int64_t count, std::int64_t rows, const Columns& kept) const {
        Turned out{Buffer<double>(count * count, stream_), {}};
        const Buffer<double> along(rows * count, stream_);
        find_rotation({out.turns.get(), count, count, count}, stream_);
        product(Operand<double>{matrix_.get() + first, form_.width, count, stride_, 1}, out.turns.get(), count, count,
                kept.data + first, kept.stride, stream_);
        product(Operand<double>{along_.get() + first, rows, count, stride_, 1}, out.turns.get(), count, count,
                along.get(), count, stream_);
        out.along = fetched(along, stream_);
        return out;
    }
    // The matrix of a projection, and what its columns and products with it are away from orthonormal and exact ones.
    void keep(const Columns& columns, ProjectedVectors& out) const {
        Directions& directions = out.directions;
        out.matrix =
            std::make_unique<DigitMatrix>(columns.data, columns.rows, columns.columns, columns.stride, stream_);
        directions.matrix = out.matrix.get();
        const double length = defect(columns, stream_);
        directions.error = exact::ProjectionError(length * length, columns.rows, columns.columns);
        if (directions.bytes) set_error_kappas(directions);
    }
    // What is typical of the sample.
    void set_error_kappas(Directions& directions) const {
        const std::int64_t m = directions.columns, rows = sampled(m);
        const Buffer<double> along(rows * m, stream_);
        const Buffer<float> lost(rows, stream_);
        product(other_rows(), rows, *directions.matrix, m, along.get(), m, lost.get(), stream_);
        const std::vector<double> coordinates = fetched(along, stream_), vectors = rows_of_sample(rows);
        const std::vector<float> each = fetched(lost, stream_);
        double of_coordinates = 0, of_left = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double norm2 = squares(vectors, r, form_.width),
                         left = std::sqrt(std::max(0.0, norm2 - squares(coordinates, r, m)));
            if (!(left > 0)) continue;
            const exact::ProjectionError error =
                directions.error.with(static_cast<double>(each[static_cast<std::size_t>(r)]) / std::sqrt(norm2));
            of_coordinates += error.coordinates / static_cast<double>(rows);
            of_left += error.of_left(norm2, left) / left / static_cast<double>(rows);
        }
        directions.bytes.coordinate_kappa = std::clamp(of_coordinates, 0x1p-40, 1.0);
        directions.bytes.left_kappa = std::clamp(of_left, 0x1p-40, 1.0);
    }
    // The sum of those of a row of so many numbers.
    static double squares(const std::vector<double>& rows, std::int64_t row, std::int64_t width) {
        const auto first = rows.begin() + row * width;
        return std::inner_product(first, first + width, first, 0.0);
    }
    // The directions of the pass turned, so that one step suits all, and those in which vectors are longest beside.
    bool use_byte_columns(ProjectedVectors& out, const Columns& kept) {
        const std::int64_t m = out.directions.columns, rows = sampled(m);
        const Turned found = turned(0, m, rows, kept);
        const std::vector<double> sample = with_remainders(found.along, rows, m);
        const ChosenBytes chosen = choose_bytes(sample, rows, m + 1);
        if (chosen.step == 0) return false;
        set_bytes(out, chosen);
        if (m >= LeadingDirections::most) set_leading(out, sample, rows, chosen, fetched(found.turns, stream_));
        out.directions.form.width = byte_numbers(m) / 2;
        return true;
    }
    // Coordinates of rows of the sample along m columns, and what these leave of each.
    std::vector<double> with_remainders(const std::vector<double>& along, std::int64_t rows, std::int64_t m) const {
        const std::vector<double> vectors = rows_of_sample(rows);
        std::vector<double> out;
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto own = along.begin() + r * m;
            out.insert(out.end(), own, own + m);
            out.push_back(std::sqrt(std::max(0.0, squares(vectors, r, form_.width) - squares(along, r, m))));
        }
        return out;
    }
    // The first directions, as the turned coordinates have them; where they serve.
    void set_leading(ProjectedVectors& out, const std::vector<double>& sample, std::int64_t rows,
                     const ChosenBytes& chosen, const std::vector<double>& turns) const {
        constexpr std::int64_t most = LeadingDirections::most;
        const std::int64_t m = out.directions.columns;
        std::vector<double> matrix(static_cast<std::size_t>(m * most));
        for (std::int64_t c = 0; c < m; ++c)
            for (std::int64_t j = 0; j < most; ++j)
                matrix[static_cast<std::size_t>(c * most + j)] = turns[static_cast<std::size_t>(j * m + c)];
        const ChosenLeading found = choose_leading(sample, rows, m + 1, chosen, matrix, most);
        if (found.coarse == 0) return;
        matrix.resize(static_cast<std::size_t>(LeadingDirections::padded(m) * most));
        out.leading = Buffer<double>(std::ssize(matrix), stream_);
        upload(out.leading, matrix);
        out.directions.bytes.kappa = found.kappa;
        out.directions.bytes.leading = {.count = static_cast<int>(most),
                                        .matrix = out.leading.get(),
                                        .coarse = found.coarse,
                                        .fine = found.fine,
                                        .coarse_kappa = found.coarse_kappa,
                                        .fine_kappa = found.fine_kappa};
    }
    // Without memory for their rows stages are left out.
    void add_stages(ProjectedVectors& out) const {
        Directions& directions = out.directions;
        for (int stage = 0; stage < directions.stages; ++stage) {
            try {
                out.further[static_cast<std::size_t>(stage)] =
                    Buffer<char>(n_ * directions.further[stage].row_bytes(), stream_);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory) throw;
                directions.stages = stage;
            }
        }
    }
    bool use_bytes(ProjectedVectors& out) {
        Directions& directions = out.directions;
        directions.columns = form_.width;
        if (is_turned_) {
            const Gram squares(rotation(), stream_);
            if (squares.usable() < form_.width) return false;
        }
        directions.form.width = byte_width(form_.width) / 2;
        set_bytes(out, bytes_);
        if (is_turned_) keep(rotation(), out);
        return true;
    }
    void set_bytes(ProjectedVectors& out, const ChosenBytes& chosen) const {
        out.shift = Buffer<double>(static_cast<std::int64_t>(chosen.shift.size()), stream_);
        upload(out.shift, chosen.shift);
        out.directions.bytes = {.step = chosen.step,
                                .shift = out.shift.get(),
                                .shift_norm = std::sqrt(std::inner_product(chosen.shift.begin(), chosen.shift.end(),
                                                                           chosen.shift.begin(), 0.0)),
                                .kappa = chosen.kappa,
                                .leading = {}};
    }
    void upload(const Buffer<double>& to, const std::vector<double>& from) const {
        InFlight reading(stream_);
        check(cudaMemcpyAsync(to.get(), from.data(), from.size() * sizeof(double), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        reading.wait("sample");
    }

    const FilterVectors& filter_;
    const FilterForm& form_;
    const VectorSource* source_;
    bool byte_terms_, byte_directions_;
    std::int64_t n_, made_of_, others_;
    cudaStream_t stream_;
    std::vector<int> columns_, tried_;  // tried_: those of stages as well, ascending
    ChosenBytes bytes_;
    bool is_turned_ = false;
    std::int64_t stride_ = 0, turned_stride_ = 0;
    Buffer<double> matrix_, along_, rotation_;
    PassingShares shares_;
    std::optional<Choice> best_;
};

}  // namespace

std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices,
                                                cudaStream_t stream, const VectorSource* source) {
    return Projecting(filter, n, choices, stream, source).found();
}

}  // namespace kith::gpu
