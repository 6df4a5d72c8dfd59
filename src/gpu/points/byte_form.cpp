// The step for whose rounding and clipping the bound adds least, rows that it adds much for
// counting most: a query that most points pass for makes a search as slow as many others do.
#include "gpu/points/byte_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gpu/filter/further.h"

namespace kith::gpu {

namespace {

// Rows that round to themselves leave the bound, whose other side may be a row that does not, this
// much.
constexpr double least_kappa = 0x1p-10;
// Steps that are tried: 127 of them are so many deviations of all coordinates together.
constexpr std::array clipped_deviations = {3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 11.0, 16.0};

// Steps of 4 bits that are tried, in deviations of all coordinates together: 0.335 is best of
// Gaussian ones.
constexpr std::array four_bit_steps = {0.2, 0.25, 0.3, 0.335, 0.37, 0.42, 0.5, 0.6, 0.8, 1.1};

// Of a unit that coordinates are multiples of.
constexpr double largest_multiple = 4096;

class ByteChoice {
public:
    ByteChoice(const std::vector<double>& sample, std::int64_t rows, std::int64_t columns)
        : sample_(sample),
          rows_(static_cast<std::size_t>(rows)),
          columns_(static_cast<std::size_t>(columns)),
          least_(columns_),
          most_(columns_),
          mean_(columns_) {
        for (std::size_t c = 0; c < columns_; ++c) {
            least_[c] = most_[c] = at(0, c);
            for (std::size_t r = 0; r < rows_; ++r) {
                least_[c] = std::min(least_[c], at(r, c));
                most_[c] = std::max(most_[c], at(r, c));
                mean_[c] += at(r, c);
            }
            mean_[c] /= static_cast<double>(rows_);
        }
    }

    // Whole multiples of a power of two stay as they are where that costs less than any other step.
    ChosenBytes choose() {
        if (const double unit = common_unit(); unit > 0) consider(unit, whole_shift(unit));
        const double deviation = std::sqrt(spread2(mean_) / static_cast<double>(rows_ * columns_));
        if (deviation == 0) return {};
        for (const double deviations : clipped_deviations)
            consider(deviations * deviation / 127, mean_);
        return best_;
    }

private:
    // To the nearest whole number, of numbers far below 2^51.
    static double rounded(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
    static double square(double x) { return x * x; }
    double at(std::size_t r, std::size_t c) const { return sample_[r * columns_ + c]; }

    // The largest power of two that all coordinates are multiples of; 0 where all of them are 0, or
    // it is so small that bytes would hold few of them.
    double common_unit() const {
        double unit = 0, largest = 0;
        for (const double x : sample_) {
            if (x == 0) continue;
            largest = std::max(largest, std::abs(x));
            if (unit == 0) unit = std::ldexp(1.0, std::ilogb(x));
            while (std::fmod(x, unit) != 0) unit /= 2;
            if (unit * largest_multiple < largest) return 0;
        }
        return unit;
    }
    // Means as multiples of the unit, near which as much of the sample as possible is within the
    // range of a byte.
    std::vector<double> whole_shift(double unit) const {
        std::vector<double> shift(columns_);
        for (std::size_t c = 0; c < columns_; ++c) {
            const double mean = std::nearbyint(mean_[c] / unit) * unit, low = most_[c] - 127 * unit,
                         high = least_[c] + 128 * unit;
            shift[c] = low <= high ? std::clamp(mean, low, high) : mean;
        }
        return shift;
    }
    double spread2(const std::vector<double>& shift) const {
        double sum = 0;
        for (std::size_t r = 0; r < rows_; ++r)
            for (std::size_t c = 0; c < columns_; ++c) sum += square(at(r, c) - shift[c]);
        return sum;
    }
    void consider(double step, const std::vector<double>& shift) {
        const Left left = left_by(step, shift);
        if (best_.step > 0 && !(left.most < least_added_)) return;
        best_ = {.step = step, .shift = shift, .kappa = left.kappa, .slack = left.slack};
        least_added_ = left.most;
    }
    // What a step leaves: the noise of rows over their norms; what the bound adds for a typical
    // pair, and for one of two rows that it adds much for.
    struct Left {
        double kappa = 0, slack = 0, most = 0;
    };
    Left left_by(double step, const std::vector<double>& shift) const {
        const double inverse = 1 / step;
        std::vector<double> noise2(rows_), clipped(rows_), clipped2(rows_), size2(rows_);
        double sum = 0, all = 0;
        for (std::size_t r = 0; r < rows_; ++r) {
            const double *const row = sample_.data() + r * columns_, *const off = shift.data();
            double noise = 0, over = 0, over2 = 0, size = 0;
#pragma omp simd reduction(+ : noise, over, over2, size)
            for (std::size_t c = 0; c < columns_; ++c) {
                // Without a comparison, which the compiler would make a branch of.
                const double y = row[c] - off[c], farther = std::abs(y + step / 2) - 128 * step,
                             beyond = (farther + std::abs(farther)) / 2,
                             within = 0.5 - std::copysign(0.5, farther),
                             rest = (y - rounded(y * inverse) * step) * within;
                noise += rest * rest;
                over += beyond;
                over2 += beyond * beyond;
                size += y * y;
            }
            noise2[r] = noise;
            clipped[r] = over;
            clipped2[r] = over2;
            size2[r] = size;
            sum += noise;
            all += size;
        }
        Left left;
        left.kappa = std::max(least_kappa, all > 0 ? std::sqrt(sum / all) : 0.0);
        for (std::size_t r = 0; r < rows_; ++r) {
            const double added = noise2[r] * (1 / left.kappa + 0.5) + left.kappa * size2[r] +
                                 2 * 128 * step * clipped[r] + clipped2[r];
            left.slack += added / static_cast<double>(rows_);
            left.most += square(square(added));
        }
        return left;
    }

    const std::vector<double>& sample_;
    std::size_t rows_, columns_;
    std::vector<double> least_, most_, mean_;
    ChosenBytes best_;
    double least_added_ = 0;
};

}  // namespace

ChosenBytes choose_bytes(const std::vector<double>& sample, std::int64_t rows,
                         std::int64_t columns) {
    return ByteChoice(sample, rows, columns).choose();
}

double choose_four_bits(const std::vector<double>& sample) {
    double squares = 0;
    for (const double x : sample) squares += x * x;
    if (squares == 0) return 0;
    const double deviation = std::sqrt(squares / static_cast<double>(sample.size()));
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (const double share : four_bit_steps) {
        const double step = share * deviation, inverse = 1 / step;
        double left = 0;
        for (const double x : sample) {
            const double rest = x - further_number(x, inverse, false) * step;
            left += rest * rest;
        }
        if (left < least) {
            least = left;
            best = step;
        }
    }
    return best;
}

ChosenLeading choose_leading(const std::vector<double>& sample, std::int64_t rows,
                             std::int64_t columns, const ChosenBytes& bytes,
                             const std::vector<double>& matrix, std::int64_t directions) {
    constexpr double largest_defect = 1e-11;
    const auto count = static_cast<std::size_t>(directions), turned = matrix.size() / count;
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = i == j ? -1 : 0;
            for (std::size_t c = 0; c < turned; ++c)
                sum += matrix[c * count + i] * matrix[c * count + j];
            if (!(std::abs(sum) <= largest_defect)) return {};
        }
    // Coordinates and noise of the rows along the directions, and the squares of what is across
    // them.
    std::vector<double> size_along, noise_along;
    double size2 = 0, noise2 = 0, size_along2 = 0;
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(columns);
    for (std::size_t r = 0; r < height; ++r) {
        std::vector<double> size(count), noise(count);
        for (std::size_t c = 0; c < width; ++c) {
            const double y = sample[r * width + c] - bytes.shift[c],
                         nearest = std::nearbyint(y / bytes.step),
                         rest = nearest >= -128 && nearest <= 127 ? y - nearest * bytes.step : 0.0;
            size2 += y * y;
            noise2 += rest * rest;
            for (std::size_t j = 0; c < turned && j < count; ++j) {
                size[j] += matrix[c * count + j] * y;
                noise[j] += matrix[c * count + j] * rest;
            }
        }
        for (std::size_t j = 0; j < count; ++j) {
            size_along2 += size[j] * size[j];
            size2 -= size[j] * size[j];
            noise2 -= noise[j] * noise[j];
        }
        size_along.insert(size_along.end(), size.begin(), size.end());
        noise_along.insert(noise_along.end(), noise.begin(), noise.end());
    }
    if (!(size_along2 > 0)) return {};
    const auto ratio = [](double a2, double b2, double least = 0x1p-16) {
        return std::max(least, b2 > 0 ? std::sqrt(std::max(a2, 0.0) / b2) : 0.0);
    };
    // Squares of what a step leaves of numbers clipped to the range of a byte, and of what those
    // say.
    struct Left {
        double rest2 = 0, said2 = 0;
    };
    const auto left_by = [](double step, const std::vector<double>& values) {
        Left left;
        for (const double x : values) {
            const double said = std::clamp(std::nearbyint(x / step), -127.0, 127.0) * step;
            left.rest2 += (x - said) * (x - said);
            left.said2 += said * said;
        }
        return left;
    };
    ChosenLeading best;
    double least = 0;
    constexpr int most_shift = 8;
    for (int shift = 0; shift <= most_shift; ++shift) {
        const double coarse = std::ldexp(bytes.step, shift), fine = std::ldexp(bytes.step, -shift);
        const Left of_size = left_by(coarse, size_along), of_noise = left_by(fine, noise_along);
        const double added =
            std::sqrt(of_size.rest2 * of_noise.said2) + std::sqrt(of_noise.rest2 * size_along2);
        if (shift > 0 && added >= least) continue;
        least = added;
        best = {.coarse = coarse,
                .fine = fine,
                .kappa = ratio(noise2, size2, least_kappa),
                .coarse_kappa = ratio(of_size.rest2, of_noise.said2),
                .fine_kappa = ratio(of_noise.rest2, size_along2)};
    }
    return best;
}

}  // namespace kith::gpu
