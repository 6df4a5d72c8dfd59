// A trial on a sample, whether a PCA projection or int8 pays: the cost model and trial queries.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "cpu/filter/product.h"
#include "cpu/filter/projection.h"
#include "exact/report/watched.h"
#include "exact/value_at_rank.h"

namespace kith::cpu {

namespace {

// Numbers of components. With the residual's norm each is a multiple of 8 coordinates; in matrix
// registers some take the room of the next.
constexpr std::array<std::int64_t, 7> choices = {15, 23, 31, 47, 63, 95, max_directions};
// Cost model of filtering, in multiply-adds of a panel's coordinates. `pair`: overhead of a pair of
// rounded vectors. `byte_coordinate`, `byte_pair`: an int8 coordinate, and the overhead of its
// pair. `row`: factor on the row costs below. `finding`: fitting the PCA, shared out among the
// pairs that it filters.
struct Costs {
    double pair, byte_coordinate, byte_pair, row, finding;
};
// Vectors: AVX-512. Registers: AMX, where products cost next to nothing, so the PCA fit counts:
// wide image data are filtered faster as int8 at once (measured: benchmarks of Fashion-MNIST).
// `finding` is reasoned, not fitted: it leaves such images to int8, and fits a PCA to integers
// above 896 dimensions only.
constexpr Costs costs_of_vectors{0, 0.5, 8, 1, 0}, costs_of_registers{30, 0.45, 40, 2, 400};
const Costs& costs_of(Isa isa) {
    return isa == Isa::amx ? costs_of_registers : costs_of_vectors;
}
// Cost of rescoring a candidate from its row: per coordinate, per integer coordinate, and per
// candidate (measured: Fashion-MNIST).
constexpr double cost_per_coordinate = 12, whole_cost_per_coordinate = 6, cost_of_each = 1000;
// A projection is made if its estimated cost is below largest_share of the full-dimensional one.
// Int8 panels compare with largest_byte_share.
constexpr double largest_share = 0.7, largest_byte_share = 0.85;
// Most rows that the PCA is fitted to, and about the number of neighbours that a choice is tried
// for.
constexpr std::int64_t most_directed = 1024, expected_neighbours = 64;
// A larger share of residual squares, in rows outside the fit, rules the projection out.
constexpr double most_left = 0.6;

double cost_of_row(const Costs& costs, const FilterSample& sample) {
    const double per_coordinate = sample.whole ? whole_cost_per_coordinate : cost_per_coordinate;
    return costs.row * (static_cast<double>(sample.d) * per_coordinate + cost_of_each);
}

// Rescoring cost of a query, per point, if `share` of the points are candidates. Beyond the most
// that a query may read it falls back to the full-dimensional filter.
double cost_of_read(double share, bool whole, double row, double all) {
    const double most = most_read_share * (whole ? most_whole_read : 1);
    return share > most ? most * row + all : share * row;
}

// Coordinates that tiles multiply for dimension d: padded to registers, `per_word` to a word.
double multiplied(Isa isa, std::int64_t d, std::int64_t per_word) {
    return static_cast<double>(
        isa == Isa::amx ? in_registers(exact::ceil_div(d, per_word)) * per_word : d);
}
// Cost of a full-dimensional pair without rescoring: rounded vectors, or int8.
double cost_of_all(Isa isa, std::int64_t d) {
    return costs_of(isa).pair + multiplied(isa, d, 2);
}
double cost_of_bytes(Isa isa, std::int64_t d) {
    return costs_of(isa).byte_pair + costs_of(isa).byte_coordinate * multiplied(isa, d, 4);
}
// Panels of 8-bit integers leave almost nothing to rescore.
double cost_without_directions(Isa isa, std::int64_t d, bool whole) {
    return whole ? std::min(cost_of_all(isa, d), cost_of_bytes(isa, d)) : cost_of_all(isa, d);
}

// The value that about expected_neighbours of n points do not exceed, if they are distributed as
// this sample. `values` are half norms less products with a query of |q|^2 = q2. Ranks below one
// sample value are extrapolated as a power of the rank.
double nearest(metric::Gemm form, std::vector<double>& values, double q2,
               const std::vector<double>& squares, std::int64_t n) {
    double base = q2 / 2;
    if (form != metric::Gemm::l2)
        base = std::sqrt(q2 * *std::max_element(squares.begin(), squares.end()));
    const double rank = static_cast<double>(expected_neighbours) *
                        static_cast<double>(values.size()) / static_cast<double>(n);
    return exact::value_at_rank(values, -base, rank);
}

// Trial queries on the sample: counts candidates among its points at each choice of components.
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

    // Adds, for each choice, the share of the points that are candidates of row `query`.
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
    // Inner products along the components of each choice.
    void products(std::int64_t a, std::int64_t b, std::vector<double>& out) const {
        double sum = 0;
        std::int64_t begin = 0;
        for (std::size_t c = 0; c < choices_count_; begin = choices[c++])
            out[c] = sum += product(of(a) + begin, of(b) + begin, choices[c] - begin);
    }
    const double* of(std::int64_t i) const { return coordinates_ + i * room_; }
    // The residual norm of a row after projection, for each choice.
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
    // Fits to every other row or fewer, starting with the first. The rows between serve as points,
    // and as queries if the search provides none.
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
