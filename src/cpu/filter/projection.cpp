// Directions by subspace iteration on a sample.
#include "cpu/filter/projection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "exact/value_at_rank.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// Products with the sample's matrix of squares. The first columns of a spectrum that falls have
// turned to its largest directions after so many.
constexpr int iterations = 2;
// A vector of which the others leave less than this share has no direction of its own.
constexpr double least_left = 1e-6;

using Basis = std::vector<double>;  // vectors of d coordinates, one after the other

double product(const double* a, const double* b, std::int64_t d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += a[j] * b[j];
    return sum;
}

std::vector<double> transposed(const double* rows, std::int64_t count, std::int64_t columns,
                               std::int64_t stride, std::int64_t out_stride) {
    std::vector<double> out(static_cast<std::size_t>(columns * out_stride), 0.0);
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            out[static_cast<std::size_t>(j * out_stride + i)] = rows[i * stride + j];
    return out;
}

// The products of `count` vectors of d coordinates, `stride` apart, with each other; rows
// padded(count) apart.
std::vector<double> gram(const TileKernels& tiles, const double* vectors, std::int64_t stride,
                         std::int64_t count, std::int64_t d, int threads, ProgressMeter& progress) {
    const std::int64_t width = Projection::padded(count);
    const std::vector<double> columns = transposed(vectors, count, d, stride, width);
    std::vector<double> out(static_cast<std::size_t>(count * width));
    watched_for(threads, count, 16, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    tiles.project(vectors + first * stride, stride, last - first, columns.data(), d,
                                  width, width, out.data() + first * width, width);
                });
    return out;
}

// Vectors of `width` coordinates of length 1, orthogonal to each other, that span the same; those
// that the ones before span are left out. By the Cholesky factor of their products, twice
// (CholeskyQR2: Yamamoto et al. 2015).
void orthonormalise(const TileKernels& tiles, Basis& basis, std::int64_t width, int threads,
                    ProgressMeter& progress) {
    for (int pass = 0; pass < 2; ++pass) {
        const std::int64_t count = static_cast<std::int64_t>(basis.size()) / width,
                           stride = Projection::padded(count);
        const std::vector<double> products =
            gram(tiles, basis.data(), width, count, width, threads, progress);
        if (progress.cancelled()) return;
        // Row r of the factor's inverse makes vector r of the vectors up to its own.
        std::vector<double> factor, inverse;
        std::vector<std::int64_t> kept;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto size = static_cast<std::int64_t>(kept.size());
            std::vector<double> row(static_cast<std::size_t>(count), 0.0), of_vectors(row);
            double left = products[static_cast<std::size_t>(i * stride + i)];
            const double least = least_left * least_left * left;
            for (std::int64_t r = 0; r < size; ++r) {
                const double* const other = factor.data() + r * count;
                const double with = products[static_cast<std::size_t>(
                    i * stride + kept[static_cast<std::size_t>(r)])];
                const double along = (with - product(row.data(), other, r)) / other[r];
                row[static_cast<std::size_t>(r)] = along;
                left -= along * along;
                const double* const made = inverse.data() + r * count;
                for (std::int64_t c = 0; c <= i; ++c)
                    of_vectors[static_cast<std::size_t>(c)] -= along * made[c];
            }
            if (!(left > least)) continue;
            const double length = std::sqrt(left);
            row[static_cast<std::size_t>(size)] = length;
            of_vectors[static_cast<std::size_t>(i)] += 1;
            for (double& v : of_vectors) v /= length;
            factor.insert(factor.end(), row.begin(), row.end());
            inverse.insert(inverse.end(), of_vectors.begin(), of_vectors.end());
            kept.push_back(i);
        }
        const auto size = static_cast<std::int64_t>(kept.size());
        Basis made(static_cast<std::size_t>(size * width));
        watched_for(
            threads, size, 16, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
                tiles.project(inverse.data() + first * count, count, last - first, basis.data(),
                              count, width, width, made.data() + first * width, width);
            });
        basis = std::move(made);
    }
}

}  // namespace

Projection::Projection(const TileKernels& tiles, const double* rows, std::int64_t stride,
                       std::int64_t count, std::int64_t d, std::int64_t columns, int threads,
                       ProgressMeter& progress) {
    // `rows` as a matrix of count x d whose rows end in zeros, as those of a basis do.
    const std::int64_t width = padded(d);
    Buffer<double> sample(count * width);
    for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(rows + i * stride, d, sample.data() + i * width);
        std::fill_n(sample.data() + i * width + d, width - d, 0.0);
    }
    Basis basis;
    for (std::int64_t i = 0; i < std::min(columns, count); ++i) {
        const double* const row = sample.data() + i * count / std::min(columns, count) * width;
        basis.insert(basis.end(), row, row + width);
    }
    orthonormalise(tiles, basis, width, threads, progress);
    std::vector<double> length2;
    for (int iteration = 0; iteration <= iterations; ++iteration) {
        if (progress.cancelled()) return;
        set(basis, width, d);
        std::vector<double> along(static_cast<std::size_t>(count * room()));
        watched_for(threads, count, 32, progress, "prepare",
                    [&](std::int64_t first, std::int64_t last) {
                        coordinates(tiles, sample.data() + first * width, width, last - first,
                                    along.data() + first * room());
                    });
        const std::vector<double> by_column =
            transposed(along.data(), count, columns_, room(), count);
        if (iteration == iterations) {
            for (std::int64_t c = 0; c < columns_; ++c)
                length2.push_back(
                    product(by_column.data() + c * count, by_column.data() + c * count, count));
            break;
        }
        basis.resize(static_cast<std::size_t>(columns_ * width));
        watched_for(
            threads, columns_, 4, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
                tiles.project(by_column.data() + first * count, count, last - first, sample.data(),
                              count, width, width, basis.data() + first * width, width);
            });
        orthonormalise(tiles, basis, width, threads, progress);
    }
    std::vector<std::int64_t> order(length2.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return length2[static_cast<std::size_t>(a)] > length2[static_cast<std::size_t>(b)];
    });
    Basis widest;
    for (const std::int64_t c : order)
        widest.insert(widest.end(), basis.data() + c * width, basis.data() + (c + 1) * width);
    set(widest, width, d);
    measure(tiles, widest, width, progress);
}

void Projection::set(const std::vector<double>& basis, std::int64_t stride, std::int64_t d) {
    d_ = d;
    columns_ = static_cast<std::int64_t>(basis.size()) / stride;
    const std::int64_t width = room();
    matrix_ = Buffer<double>(d * width);
    std::fill_n(matrix_.data(), d * width, 0.0);
    for (std::int64_t c = 0; c < columns_; ++c)
        for (std::int64_t j = 0; j < d; ++j)
            matrix_[j * width + c] = basis[static_cast<std::size_t>(c * stride + j)];
}

Projection Projection::first(const TileKernels& tiles, std::int64_t columns,
                             ProgressMeter& progress) const {
    const Basis basis = transposed(matrix_.data(), d_, columns, room(), d_);
    Projection out;
    out.set(basis, d_, d_);
    out.measure(tiles, basis, d_, progress);
    return out;
}

void Projection::measure(const TileKernels& tiles, const std::vector<double>& basis,
                         std::int64_t stride, ProgressMeter& progress) {
    const std::vector<double> products =
        gram(tiles, basis.data(), stride, columns_, d_, 1, progress);
    double defect2 = 0;
    for (std::int64_t a = 0; a < columns_; ++a) {
        for (std::int64_t b = 0; b < columns_; ++b) {
            const double e =
                products[static_cast<std::size_t>(a * padded(columns_) + b)] - (a == b ? 1 : 0);
            defect2 += e * e;
        }
    }
    error_ = exact::ProjectionError(defect2, d_, columns_);
}

void Projection::coordinates(const TileKernels& tiles, const double* rows, std::int64_t stride,
                             std::int64_t count, double* out) const {
    tiles.project(rows, stride, count, matrix_.data(), d_, room(), padded(columns_), out, room());
}

double Projection::complete(double norm2, double* coordinates) const {
    const double along2 = product(coordinates, coordinates, columns_);
    const double left2 = std::max(0.0, norm2 - along2), left = std::sqrt(left2);
    coordinates[columns_] = left;
    return error_.of(norm2, left) * (1 + 0x1p-20) + 0x1p-500;
}

namespace {

// With what is left of a vector, a multiple of 8 coordinates. In matrix registers some take the
// room of the next.
constexpr std::array<std::int64_t, 7> choices = {15, 23, 31, 47, 63, 95, max_directions};
// What filtering takes, in multiply-adds of a panel's coordinates: a pair of rounded vectors beside
// those; a pair of whole numbers of 8 bits, for each coordinate and beside; how many times as much
// as below a row takes; finding directions, shared out among the pairs that they filter.
struct Costs {
    double pair, byte_coordinate, byte_pair, row, finding;
};
// Two cores of an AMD EPYC with AVX-512; cores of an Intel Xeon with AMX, whose products take next
// to nothing. There finding directions counts: Fashion-MNIST, 784 dimensions, took 2.9 s along
// directions and 1.1 as bytes at once, which filter it in about the same time and need nothing
// found (one call, k 10, 2026-11-27). How much it counts is reasoned: so much leaves those images
// to bytes, and looks for directions of whole numbers above 896 dimensions.
constexpr Costs costs_of_vectors{0, 0.5, 8, 1, 0}, costs_of_registers{30, 0.45, 40, 2, 400};
const Costs& costs_of(Isa isa) {
    return isa == Isa::amx ? costs_of_registers : costs_of_vectors;
}
// A candidate that is read from its row: so many for each coordinate, and for itself (the EPYC,
// Fashion-MNIST).
constexpr double cost_per_coordinate = 12, whole_cost_per_coordinate = 6, cost_of_each = 1000;
// A projection is made if filtering takes less than this share of what all coordinates take, panels
// of bytes below the other.
constexpr double largest_share = 0.7, largest_byte_share = 0.85;
// Rows that directions are made of at most; neighbours that the choice is tried for, about.
constexpr std::int64_t most_directed = 1024, expected_neighbours = 64;
// Of the squares that directions leave in rows that they were not made of, more than this is
// hopeless.
constexpr double most_left = 0.6;

double cost_of_row(const Costs& costs, const FilterSample& sample) {
    const double per_coordinate = sample.whole ? whole_cost_per_coordinate : cost_per_coordinate;
    return costs.row * (static_cast<double>(sample.d) * per_coordinate + cost_of_each);
}

// What a query that so much of the points are candidates of takes behind the panels, for each
// point: it is given up where it has read too many rows.
double cost_of_read(double share, bool whole, double row, double all) {
    const double most = most_read_share * (whole ? most_whole_read : 1);
    return share > most ? most * row + all : share * row;
}

// The coordinates, so many of them in a word, that tiles multiply for d.
double multiplied(Isa isa, std::int64_t d, std::int64_t per_word) {
    return static_cast<double>(
        isa == Isa::amx ? in_registers(exact::ceil_div(d, per_word)) * per_word : d);
}
// A pair of all coordinates without a row: rounded, or as bytes.
double cost_of_all(Isa isa, std::int64_t d) {
    return costs_of(isa).pair + multiplied(isa, d, 2);
}
double cost_of_bytes(Isa isa, std::int64_t d) {
    return costs_of(isa).byte_pair + costs_of(isa).byte_coordinate * multiplied(isa, d, 4);
}
// Bytes that are whole numbers leave next to nothing to their rows.
double cost_without_directions(Isa isa, std::int64_t d, bool whole) {
    return whole ? std::min(cost_of_all(isa, d), cost_of_bytes(isa, d)) : cost_of_all(isa, d);
}

// The value that about expected_neighbours of n points do not exceed, if they are as these are:
// `values` are half norms less products with a query of |q|^2 = q2. Where that is less than one of
// them, the first ones are continued as a power of their rank.
double nearest(metric::Gemm form, std::vector<double>& values, double q2,
               const std::vector<double>& squares, std::int64_t n) {
    double base = q2 / 2;
    if (form != metric::Gemm::l2)
        base = std::sqrt(q2 * *std::max_element(squares.begin(), squares.end()));
    const double rank = static_cast<double>(expected_neighbours) *
                        static_cast<double>(values.size()) / static_cast<double>(n);
    return exact::value_at_rank(values, -base, rank);
}

// Queries of the sample: candidates among its points at each of some choices.
class Trial {
public:
    Trial(const FilterSample& sample, const double* coordinates, std::int64_t room, std::int64_t n,
          std::size_t choices_count)
        : sample_(sample),
          coordinates_(coordinates),
          room_(room),
          n_(n),
          choices_count_(choices_count),
          squares_(static_cast<std::size_t>(sample.all())),
          left_(squares_.size() * choices_count) {
        std::vector<double> along(choices_count);
        for (std::int64_t i = 0; i < sample.all(); ++i) {
            const double* const x = sample_.rows + i * sample_.d;
            const double square = product(x, x, sample_.d);
            squares_[static_cast<std::size_t>(i)] = square;
            products(i, i, along);
            for (std::size_t c = 0; c < choices_count; ++c)
                left_of(i)[c] = std::sqrt(std::max(0.0, square - along[c]));
        }
    }

    // Adds the share of the points that are candidates of row `query` with each of the choices.
    void add(std::int64_t query, std::vector<double>& shares) const {
        const double* const q = sample_.rows + query * sample_.d;
        const bool l2 = sample_.form == metric::Gemm::l2;
        const auto half = [&](std::int64_t i) {
            return l2 ? squares_[static_cast<std::size_t>(i)] / 2 : 0;
        };
        const std::int64_t self = sample_.self(query);
        std::vector<double> values;
        for (std::int64_t i = 0; i < sample_.count; ++i)
            if (i != self)
                values.push_back(half(i) - product(q, sample_.rows + i * sample_.d, sample_.d));
        const double threshold =
            nearest(sample_.form, values, squares_[static_cast<std::size_t>(query)], squares_, n_);
        std::vector<double> along(choices_count_), candidates(choices_count_, 0.0);
        for (std::int64_t i = 0; i < sample_.count; ++i) {
            if (i == self) continue;
            products(query, i, along);
            for (std::size_t c = 0; c < choices_count_; ++c)
                candidates[c] +=
                    half(i) - along[c] - left_of(query)[c] * left_of(i)[c] <= threshold;
        }
        for (std::size_t c = 0; c < choices_count_; ++c)
            shares[c] += candidates[c] / static_cast<double>(sample_.count);
    }

private:
    // The products along the directions of each choice.
    void products(std::int64_t a, std::int64_t b, std::vector<double>& out) const {
        double sum = 0;
        std::int64_t begin = 0;
        for (std::size_t c = 0; c < choices_count_; begin = choices[c++])
            out[c] = sum += product(of(a) + begin, of(b) + begin, choices[c] - begin);
    }
    const double* of(std::int64_t i) const { return coordinates_ + i * room_; }
    // What the directions of each choice leave of a row, its length.
    double* left_of(std::int64_t i) {
        return left_.data() + static_cast<std::size_t>(i) * choices_count_;
    }
    const double* left_of(std::int64_t i) const {
        return left_.data() + static_cast<std::size_t>(i) * choices_count_;
    }

    const FilterSample& sample_;
    const double* coordinates_;
    std::int64_t room_, n_;
    std::size_t choices_count_;
    std::vector<double> squares_, left_;
};

}  // namespace

double cost_of_directions(Isa isa, std::int64_t directions) {
    return cost_of_all(isa, directions + 1);
}

bool directions_may_pay(Isa isa, std::int64_t d, bool whole) {
    const double least = cost_of_directions(isa, choices.front()) + costs_of(isa).finding;
    return !whole || least < cost_without_directions(isa, d, whole);
}

std::optional<Projection> find_projection(Isa isa, const FilterSample& sample, std::int64_t n,
                                          bool always, int threads, ProgressMeter& progress) {
    const TileKernels& tiles = tile_kernels(isa);
    const bool whole = sample.whole && byte_kernels(isa);
    if (!always && !directions_may_pay(isa, sample.d, whole)) return std::nullopt;
    // Directions of every other row or fewer, from the first on; the others, from the second on,
    // are points, and queries where there are no others.
    const std::int64_t d = sample.d,
                       step = std::max<std::int64_t>(1, sample.count / (2 * most_directed)) * 2;
    const std::int64_t made_of = (sample.count + step - 1) / step, others = sample.count / 2;
    const std::int64_t most = std::min({choices.back(), d / 2, made_of / 4});
    if (others < 1 || most < choices.front()) return std::nullopt;
    Buffer<double> rest((others + sample.queries) * d);
    for (std::int64_t i = 0; i < others; ++i)
        std::copy_n(sample.rows + (2 * i + 1) * d, d, rest.data() + i * d);
    std::copy_n(sample.rows + sample.count * d, sample.queries * d, rest.data() + others * d);
    const FilterSample points{sample.form, rest.data(), others, d, sample.whole, sample.queries};
    const Projection all(tiles, sample.rows, step * d, made_of, d, most, threads, progress);
    progress.throw_if_cancelled();
    std::vector<std::int64_t> possible;
    for (const std::int64_t c : choices)
        if (c <= all.columns()) possible.push_back(c);
    if (possible.empty()) return std::nullopt;
    Buffer<double> coordinates(points.all() * all.room());
    watched_for(threads, points.all(), 64, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    all.coordinates(tiles, rest.data() + first * d, d, last - first,
                                    coordinates.data() + first * all.room());
                });
    progress.throw_if_cancelled();
    double squares = 0, along = 0;
    for (std::int64_t i = 0; i < others; ++i) {
        const double* const y = coordinates.data() + i * all.room();
        squares += product(rest.data() + i * d, rest.data() + i * d, d);
        along += product(y, y, all.columns());
    }
    if (!always && along < (1 - most_left) * squares) return std::nullopt;
    const Trial trial(points, coordinates.data(), all.room(), n, possible.size());
    const std::int64_t queries = points.tried();
    std::vector<double> total(possible.size(), 0.0);
    std::vector<std::vector<double>> shares(static_cast<std::size_t>(queries), total);
    watched_for(threads, queries, 1, progress, "prepare", [&](std::int64_t i, std::int64_t) {
        trial.add(points.query(i), shares[static_cast<std::size_t>(i)]);
    });
    progress.throw_if_cancelled();
    const double row_cost = cost_of_row(costs_of(isa), sample);
    std::size_t best = 0;
    for (std::size_t c = 0; c < possible.size(); ++c) {
        double cost = 0;
        for (const std::vector<double>& s : shares)
            cost += cost_of_read(s[c], sample.whole, row_cost, cost_of_all(isa, d)) /
                    static_cast<double>(queries);
        total[c] = cost_of_directions(isa, possible[c]) + cost;
        if (total[c] < total[best]) best = c;
    }
    if (!always && total[best] > largest_share * cost_without_directions(isa, d, whole))
        return std::nullopt;
    Projection found = all.first(tiles, possible[best], progress);
    progress.throw_if_cancelled();
    return found;
}

bool bytes_pay(Isa isa, const FilterSample& sample, const FilterBound& bound,
               const std::vector<RowSums>& sums, std::int64_t n) {
    const std::int64_t d = sample.d, queries = sample.tried();
    const bool l2 = sample.form == metric::Gemm::l2;
    std::vector<double> errors, squares, values;
    for (const RowSums& s : sums) {
        squares.push_back(s.norm2);
        errors.push_back((l2 ? s.norm2 / 2 : 0) - static_cast<double>(bound.point(s).half_norm));
    }
    double cost = 0;
    for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t query = sample.query(i), self = sample.self(query);
        const double q2 = squares[static_cast<std::size_t>(query)], size = l2 ? 1 : std::sqrt(q2);
        values.clear();
        std::vector<double> low;
        const double* const q = sample.rows + query * d;
        for (std::int64_t x = 0; x < sample.count; ++x) {
            if (x == self) continue;
            const auto at = static_cast<std::size_t>(x);
            values.push_back((l2 ? squares[at] / 2 : 0) - product(q, sample.rows + x * d, d));
            low.push_back(values.back() - errors[at] * size);
        }
        const double error =
            l2 ? bound.query(sums[static_cast<std::size_t>(query)], 1, 1).error : 0;
        const double threshold = nearest(sample.form, values, q2, squares, n) + error;
        const auto passing =
            std::count_if(low.begin(), low.end(), [=](double v) { return v <= threshold; });
        cost +=
            cost_of_read(static_cast<double>(passing) / static_cast<double>(low.size()),
                         sample.whole, cost_of_row(costs_of(isa), sample), cost_of_all(isa, d)) /
            static_cast<double>(queries);
    }
    return cost_of_bytes(isa, d) + cost <= largest_byte_share * cost_of_all(isa, d);
}

}  // namespace kith::cpu
