// Subspace iteration on one part of a sample, and a trial on the other.
#include "gpu/points/projection_sample.h"

#include <cmath>
#include <utility>

#include "gpu/filter/bytes.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/gram.h"
#include "gpu/points/tuning.h"

namespace kith::gpu {

namespace {

// Rows that columns are made of, rows that they are tried on, and those of them that are queries.
constexpr std::int64_t directed = 2048, tried_rows = 2048, tried_queries = 32;
// Coordinates that a step of 8 bits follows from, about.
constexpr std::int64_t measured = 1 << 14;

static_assert(tuning::most_projected_width <= most_digit_depth);

// Whether a filter has vectors of one term of products, which can be projected.
bool can_project(const FilterForm& form) {
    return !form.is_direct() && form.terms == 1 && form.least == 0 &&
           form.width <= tuning::most_projected_width;
}

// `count` rows of a device's matrix, `columns` numbers of each, one behind the other.
template <class T>
std::vector<T> fetched(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                       cudaStream_t stream) {
    std::vector<T> out(static_cast<std::size_t>(rows * columns));
    const auto width = static_cast<std::size_t>(columns) * sizeof(T);
    InFlight copy(stream);
    check(cudaMemcpy2DAsync(out.data(), width, from, static_cast<std::size_t>(stride) * sizeof(T),
                            width, static_cast<std::size_t>(rows), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("sample");
    return out;
}

// Columns of a matrix to another, by the strides of both.
void copy_columns(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                  std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
    constexpr auto element = sizeof(double);
    check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride) * element, from,
                            static_cast<std::size_t>(from_stride) * element,
                            static_cast<std::size_t>(columns) * element,
                            static_cast<std::size_t>(rows), cudaMemcpyDefault, stream),
          "cudaMemcpy");
}

}  // namespace

ProjectionSample::ProjectionSample(const FilterVectors& filter, std::int64_t n, cudaStream_t stream)
    : filter_(filter),
      n_(n),
      made_of_(std::min(directed, n / 2)),
      others_(std::min(tried_rows, n - made_of_)),
      stream_(stream) {}

bool ProjectionSample::serves() const {
    return others_ >= tried_queries && can_project(form());
}

std::int64_t ProjectionSample::sampled(std::int64_t columns) const {
    return std::min(std::clamp<std::int64_t>(measured / columns, 8, 256), others_);
}

std::vector<double> ProjectionSample::rows_of_sample(std::int64_t count) const {
    const std::vector<__half> halves = fetched(other_rows(), width(), count, width(), stream_);
    std::vector<double> rows(halves.size());
    std::ranges::transform(halves, rows.begin(),
                           [](__half x) { return static_cast<double>(__half2float(x)); });
    return rows;
}

void ProjectionSample::have_room(std::int64_t columns) {
    found_ = columns;
    stride_ = whole_columns(columns);
    matrix_ = Buffer<double>(width() * stride_, stream_);
    along_ = Buffer<double>(others_ * stride_, stream_);
}

void ProjectionSample::find_columns(std::int64_t columns) {
    have_room(columns);
    find_directions(rows(), made_of_, matrix(columns), stream_);
}

bool ProjectionSample::find_further_columns(std::int64_t all) {
    const std::int64_t usable = Gram(matrix(found_), stream_).usable(), stride = stride_;
    if (usable == 0) return false;
    const Buffer<double> known = std::move(matrix_);
    have_room(all);
    copy_columns(known.get(), stride, matrix_.get(), stride_, width(), usable, stream_);
    find_further_directions(rows(), made_of_, matrix(usable),
                            {matrix_.get() + usable, width(), all - usable, stride_}, stream_);
    return true;
}

PassingShares ProjectionSample::try_columns(const std::vector<int>& tried, double slack,
                                            std::int64_t byte_columns) {
    if (!tried.empty())
        product(Operand<__half>{other_rows(), others_, width(), width(), 1}, matrix_.get(), stride_,
                tried.back(), along_.get(), stride_, stream_);
    const bool shifts = form().shifts_products();
    ProjectionTrial trial{.rows = other_rows(),
                          .count = others_,
                          .depth = width(),
                          .queries = tried_queries,
                          .along = along_.get(),
                          .stride = stride_,
                          .choices = static_cast<int>(tried.size()),
                          .columns = {},
                          .slack = slack,
                          .direction_slack = byte_columns > 0 ? direction_slack(byte_columns) : 0.0,
                          .square = form().gemm == metric::Gemm::l2 && !shifts,
                          .half_norm = shifts ? filter_.half_norm.get() + made_of_ : nullptr};
    std::ranges::copy(tried, trial.columns);
    return passing_shares(trial, n_, stream_);
}

// By how much values of directions in 8 bits may lie below those of directions.
double ProjectionSample::direction_slack(std::int64_t columns) const {
    const std::int64_t rows = std::min<std::int64_t>(256, others_);
    const std::vector<double> sample = fetched(along_.get(), stride_, rows, columns, stream_);
    double all = 0, beyond = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
        double sum = 0, squares = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double x = sample[static_cast<std::size_t>(r * columns + c)];
            sum += x;
            squares += x * x;
        }
        const double variance =
            (squares - sum * sum / static_cast<double>(rows)) / static_cast<double>(rows);
        all += variance;
        if (c >= LeadingDirections::most) beyond += variance;
    }
    return tuning::direction_slack * std::sqrt(all * std::max(beyond, 0.0));
}

}  // namespace kith::gpu
