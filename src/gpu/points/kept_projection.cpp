// Columns that are turned, rounded to what digits make of them, and measured.
#include "gpu/points/kept_projection.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/filter/bytes.h"
#include "gpu/points/directions.h"
#include "gpu/points/gram.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/product_f64.h"

namespace kith::gpu {

namespace {

// Of numbers of 8 bits along directions: of smaller ones the square, which stages count in f32, may
// be none of its normal numbers.
constexpr double least_step = 0x1p-50;

// The sum of the squares of a row of so many numbers.
double squares(const std::vector<double>& rows, std::int64_t row, std::int64_t width) {
    const auto first = rows.begin() + row * width;
    return std::inner_product(first, first + width, first, 0.0);
}

Columns rotation_of(const ProjectionSample& sample, const CoordinateBytes& bytes) {
    return {bytes.rotation.get(), sample.width(), sample.width(), bytes.stride};
}

// One projection's parts, as they come.
class Keeping {
public:
    Keeping(const ProjectionSample& sample, ProjectedVectors& out)
        : sample_(sample), stream_(sample.stream()), out_(out), directions_(out.directions) {}

    bool keep(ChosenColumns choice, bool in_bytes) {
        if (!choose_columns(choice)) return false;
        const std::int64_t all = directions_.all_columns();
        const Buffer<double> memory(sample_.width() * all, stream_);
        const Columns kept{memory.get(), sample_.width(), all, all};
        if (in_bytes) {
            if (!use_byte_columns(kept)) return false;
        } else {
            // Turned, entries are of one size, and digits say more of them.
            turned(0, directions_.columns, 1, kept);
            directions_.form.width = projected_width(directions_.columns);
            directions_.form.gamma = filter_gamma(directions_.form.width);
        }
        use_stages(kept);
        set_matrix({kept.data, kept.rows, directions_.all_columns(), all});
        return true;
    }

    bool keep(const CoordinateBytes& bytes) {
        const Columns rotation = rotation_of(sample_, bytes);
        directions_.columns = sample_.width();
        if (bytes.is_turned && Gram(rotation, stream_).usable() < sample_.width()) return false;
        directions_.form.width = byte_width(sample_.width()) / 2;
        set_bytes(bytes.chosen);
        if (bytes.is_turned) set_matrix(rotation);
        return true;
    }

private:
    // As many as are wanted and of use.
    bool choose_columns(ChosenColumns choice) {
        const Gram products(sample_.matrix(sample_.found()), stream_);
        const std::int64_t usable = products.usable();
        if (usable == 0) return false;
        directions_.columns = std::min<std::int64_t>(choice.columns, usable);
        while (directions_.stages < choice.stages && directions_.all_columns() < usable) {
            const std::int64_t
                first = directions_.all_columns(),
                count = std::min<std::int64_t>(
                    tuning::stage_columns[static_cast<std::size_t>(directions_.stages)],
                    usable - first);
            // What rounding alone has made of columns costs more than they say.
            if (products.defect2(first + count) > tuning::largest_defect2) break;
            directions_.further[directions_.stages++] = {.first = first, .count = count};
        }
        return true;
    }
    // Columns turned, so that one step suits all of them, to the same place of the kept ones; how
    // they were turned, and what rows of the sample have along them.
    struct Turned {
        Buffer<double> turns;
        std::vector<double> along;
    };
    Turned turned(std::int64_t first, std::int64_t count, std::int64_t rows,
                  const Columns& kept) const {
        Turned out{Buffer<double>(count * count, stream_), {}};
        const Buffer<double> along(rows * count, stream_);
        const Columns found = sample_.matrix(first + count);
        find_rotation({out.turns.get(), count, count, count}, stream_);
        product(Operand<double>{found.data + first, found.rows, count, found.stride, 1},
                out.turns.get(), count, count, kept.data + first, kept.stride, stream_);
        product(sample_.along(first, rows, count), out.turns.get(), count, count, along.get(),
                count, stream_);
        out.along = fetched(along, stream_);
        return out;
    }
    // The columns of stages, and the steps of their numbers.
    void use_stages(const Columns& kept) {
        for (int stage = 0; stage < directions_.stages; ++stage) {
            FurtherColumns& further = directions_.further[stage];
            const std::int64_t rows = sample_.sampled(further.count);
            const std::vector<double> along =
                turned(further.first, further.count, rows, kept).along;
            further.step = choose_four_bits(along);
            further.query_step = choose_bytes(along, rows, further.count).step;
            // Columns that no row of the sample has anything along.
            if (!(further.step > 0 && further.query_step > 0)) directions_.stages = stage;
        }
    }
    // The directions of the pass turned, so that one step suits all, and those in which vectors are
    // longest beside.
    bool use_byte_columns(const Columns& kept) {
        const std::int64_t m = directions_.columns, rows = sample_.sampled(m);
        const Turned found = turned(0, m, rows, kept);
        const std::vector<double> phi = with_remainders(found.along, rows);
        const ChosenBytes chosen = choose_bytes(phi, rows, m + 1);
        if (!(chosen.step >= least_step && chosen.step <= 1 / least_step)) return false;
        set_bytes(chosen);
        if (m >= LeadingDirections::most)
            set_leading(phi, rows, chosen, fetched(found.turns, stream_));
        directions_.form.width = byte_numbers(m) / 2;
        return true;
    }
    // Coordinates of rows of the sample along the pass's columns, and what these leave of each.
    std::vector<double> with_remainders(const std::vector<double>& along, std::int64_t rows) const {
        const std::int64_t m = directions_.columns;
        const std::vector<double> vectors = sample_.rows_of_sample(rows);
        std::vector<double> out;
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto own = along.begin() + r * m;
            out.insert(out.end(), own, own + m);
            out.push_back(std::sqrt(
                std::max(0.0, squares(vectors, r, sample_.width()) - squares(along, r, m))));
        }
        return out;
    }
    // The first directions, as the turned coordinates have them; where they serve.
    void set_leading(const std::vector<double>& phi, std::int64_t rows, const ChosenBytes& chosen,
                     const std::vector<double>& turns) {
        constexpr std::int64_t most = LeadingDirections::most;
        const std::int64_t m = directions_.columns;
        std::vector<double> matrix(static_cast<std::size_t>(m * most));
        for (std::int64_t c = 0; c < m; ++c)
            for (std::int64_t j = 0; j < most; ++j)
                matrix[static_cast<std::size_t>(c * most + j)] =
                    turns[static_cast<std::size_t>(j * m + c)];
        const ChosenLeading found = choose_leading(phi, rows, m + 1, chosen, matrix, most);
        if (found.coarse == 0) return;
        matrix.resize(static_cast<std::size_t>(LeadingDirections::padded(m) * most));
        out_.leading = Buffer<double>(std::ssize(matrix), stream_);
        upload(out_.leading, matrix);
        directions_.bytes.kappa = found.kappa;
        directions_.bytes.leading = {.count = static_cast<int>(most),
                                     .matrix = out_.leading.get(),
                                     .coarse = found.coarse,
                                     .fine = found.fine,
                                     .coarse_kappa = found.coarse_kappa,
                                     .fine_kappa = found.fine_kappa};
    }
    void set_bytes(const ChosenBytes& chosen) {
        out_.shift = Buffer<double>(std::ssize(chosen.shift), stream_);
        upload(out_.shift, chosen.shift);
        directions_.bytes = {
            .step = chosen.step,
            .shift = out_.shift.get(),
            .shift_norm = std::sqrt(squares(chosen.shift, 0, std::ssize(chosen.shift))),
            .kappa = chosen.kappa,
            .leading = {}};
    }
    // The matrix, which becomes what its digits make, and what its columns and products with it are
    // away from orthonormal and exact ones.
    void set_matrix(const Columns& columns) {
        out_.matrix = std::make_unique<DigitMatrix>(columns.data, columns.rows, columns.columns,
                                                    columns.stride, stream_);
        directions_.matrix = out_.matrix.get();
        const double length = defect(columns, stream_);
        directions_.error = exact::ProjectionError(length * length, columns.rows, columns.columns);
        if (directions_.bytes) set_error_kappa();
    }
    // What is typical of the sample.
    void set_error_kappa() {
        const std::int64_t m = directions_.columns, rows = sample_.sampled(m);
        const Buffer<double> along(rows * m, stream_);
        const Buffer<float> lost(rows, stream_);
        product(sample_.other_rows(), rows, *directions_.matrix, m, along.get(), m, lost.get(),
                stream_);
        const std::vector<double> vectors = sample_.rows_of_sample(rows);
        const std::vector<float> each = fetched(lost, stream_);
        double errors = 0, norms = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double norm = std::sqrt(squares(vectors, r, sample_.width()));
            errors += directions_.error.coordinates * norm +
                      static_cast<double>(each[static_cast<std::size_t>(r)]);
            norms += norm;
        }
        const double kappa = errors / norms;
        directions_.bytes.error_kappa = kappa > 0x1p-40 && kappa < 1 ? kappa : 0x1p-20;
    }
    void upload(const Buffer<double>& to, const std::vector<double>& from) const {
        InFlight reading(stream_);
        check(cudaMemcpyAsync(to.get(), from.data(), from.size() * sizeof(double),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        reading.wait("sample");
    }

    const ProjectionSample& sample_;
    cudaStream_t stream_;
    ProjectedVectors& out_;
    Directions& directions_;
};

}  // namespace

CoordinateBytes choose_coordinate_bytes(const ProjectionSample& sample) {
    const std::int64_t width = sample.width(), count = sample.sampled(width);
    CoordinateBytes bytes{.chosen = choose_bytes(sample.rows_of_sample(count), count, width)};
    if (!bytes || bytes.chosen.kappa <= tuning::uneven_kappa || width > tuning::most_turned_width)
        return bytes;
    bytes.stride = ProjectionSample::whole_columns(width);
    bytes.rotation = Buffer<double>(width * bytes.stride, sample.stream());
    find_rotation(rotation_of(sample, bytes), sample.stream());
    const Buffer<double> along(count * width, sample.stream());
    product(Operand<__half>{sample.other_rows(), count, width, width, 1}, bytes.rotation.get(),
            bytes.stride, width, along.get(), width, sample.stream());
    ChosenBytes turned = choose_bytes(fetched(along, sample.stream()), count, width);
    bytes.is_turned = turned.step > 0 && turned.kappa < tuning::turned_share * bytes.chosen.kappa;
    if (bytes.is_turned) bytes.chosen = std::move(turned);
    return bytes;
}

bool keep_directions(const ProjectionSample& sample, ChosenColumns choice, bool in_bytes,
                     ProjectedVectors& out) {
    return Keeping(sample, out).keep(choice, in_bytes);
}

bool keep_coordinates(const ProjectionSample& sample, const CoordinateBytes& bytes,
                      ProjectedVectors& out) {
    return Keeping(sample, out).keep(bytes);
}

}  // namespace kith::gpu
