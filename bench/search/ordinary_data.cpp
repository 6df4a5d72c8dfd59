// Makers of the rows of ordinary data, and the list of the sets.
#include "search/ordinary_data.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "machine/parallel.h"
#include "search/data.h"

namespace kith::bench {

namespace {

// For what points and queries have in common: centres, profiles, palettes.
constexpr std::uint64_t common_seed = 6;

// Random numbers of one row, in sequence.
class Draw {
public:
    Draw(std::uint64_t seed, std::int64_t number) : next_(bits_at(seed, static_cast<std::uint64_t>(number))) {}
    explicit Draw(const OrdinaryRow& row) : Draw(row.query ? queries_seed : points_seed, row.number) {}

    // In [0, 1).
    double uniform() { return static_cast<double>(mixed(next_++) >> 11) * 0x1p-53; }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(uniform() * static_cast<double>(n)); }
    // In [0, n), i about as often as 1 / (i + 1): Zipf's law.
    std::int64_t skewed(std::int64_t n) {
        return static_cast<std::int64_t>(std::pow(static_cast<double>(n + 1), uniform())) - 1;
    }
    double exponential() { return -std::log(1 - uniform()); }
    // Box and Muller 1958.
    double gaussian() {
        const double radius = std::sqrt(2 * exponential());
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    std::uint64_t next_;
};

void gaussian_around(double mean, double deviation, const OrdinaryRow& row, double* to) {
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = mean + deviation * draw.gaussian();
}

// Embeddings of texts by a neural network: what all texts share is larger than what tells them apart.
void embeddings(const OrdinaryRow& row, double* to) {
    gaussian_around(1, 0.05, row, to);
}

// Temperatures of a room at 128 places, in kelvin: raw readings, of which nobody subtracted the mean.
void temperatures(const OrdinaryRow& row, double* to) {
    gaussian_around(293, 0.5, row, to);
}

// Measurements with one typing error, or one unit of another, at the beginning of the file.
void outlier(const OrdinaryRow& row, double* to) {
    gaussian_around(0, !row.query && row.number == 0 ? 1e4 : 1, row, to);
}

// Latitude and longitude of addresses in degrees: towns, some much larger than others.
void places(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t towns = 3000;
    constexpr double south = -55, north = 70, round_the_earth = 360, least_radius = 0.02;
    Draw draw(row);
    Draw town(common_seed, draw.skewed(towns));
    const double latitude = south + (north - south) * town.uniform();
    const double longitude = round_the_earth * (town.uniform() - 0.5);
    const double radius = least_radius * (1 + town.exponential());
    to[0] = latitude + radius * draw.gaussian();
    to[1] = longitude + radius * draw.gaussian();
}

// A survey of households as it was read from the table: income, age, members, years at school, hours of work.
void households(const OrdinaryRow& row, double* to) {
    Draw draw(row);
    to[0] = std::round(std::exp(10.4 + 0.7 * draw.gaussian()));
    to[1] = static_cast<double>(18 + draw.below(70));
    to[2] = static_cast<double>(1 + draw.skewed(8));
    to[3] = static_cast<double>(8 + draw.below(13));
    to[4] = std::max(0.0, std::round(38 + 8 * draw.gaussian()));
}

// Offers of a shop in cents, most of them one cent below a round price: price, recommended price, postage, discount.
void prices(const OrdinaryRow& row, double* to) {
    constexpr double postage[] = {0, 299, 399, 499, 999};
    Draw draw(row);
    const double units = 1 + std::round(std::exp(3 + draw.gaussian()));
    const auto discount = static_cast<double>(5 * draw.below(6));
    to[0] = 100 * units - 1;
    to[1] = 100 * std::round(units / (1 - discount / 100)) - 1;
    to[2] = postage[draw.skewed(std::size(postage))];
    to[3] = discount;
}

// Pixels of photographs, red, green and blue: a few materials in brighter and darker light.
void colours(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t materials = 200;
    Draw draw(row);
    Draw material(common_seed, draw.skewed(materials));
    const double light = 0.3 + 0.8 * draw.uniform();
    for (std::int64_t i = 0; i < row.d; ++i)
        to[i] = std::clamp(std::round(light * 255 * material.uniform() + 4 * draw.gaussian()), 0.0, 255.0);
}

// How often each word of a vocabulary stands in a short text; most do not.
void word_counts(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t topics = 10, shortest = 10, longer = 50;
    std::fill_n(to, row.d, 0.0);
    Draw draw(row);
    const std::int64_t words = shortest + draw.below(longer), first = draw.below(topics) * row.d / topics;
    for (std::int64_t i = 0; i < words; ++i) to[(first + draw.skewed(row.d)) % row.d] += 1;
}

// Four columns of categories for a learner that wants numbers: a one for the category, zeros for the rest.
void one_hot(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t columns = 4;
    const std::int64_t categories = row.d / columns;
    std::fill_n(to, row.d, 0.0);
    Draw draw(row);
    for (std::int64_t i = 0; i < columns; ++i) to[i * categories + draw.skewed(categories)] = 1;
}

// A log's events: when each began, when it ended and when it was written, in seconds since 1970 with milliseconds.
void time_stamps(const OrdinaryRow& row, double* to) {
    constexpr double first = 1.7e9, year = 365 * 86400.0, typical_step = 60;
    Draw draw(row);
    double seconds = first + year * draw.uniform();
    for (std::int64_t i = 0; i < row.d; ++i) {
        to[i] = std::round(1000 * seconds) / 1000;
        seconds += typical_step * draw.exponential();
    }
}

// Histograms of pictures: shares that sum to 1, some of them 0.
void histograms(const OrdinaryRow& row, double* to) {
    constexpr double empty = 0.2;
    Draw draw(row);
    double sum = 0;
    for (std::int64_t i = 0; i < row.d; ++i) {
        const double size = draw.exponential();
        to[i] = draw.uniform() < empty ? 0 : size * size;
        sum += to[i];
    }
    for (std::int64_t i = 0; i < row.d && sum > 0; ++i) to[i] /= sum;
}

// Fingerprints of molecules, a bit for each substructure that they have: families with a common scaffold.
void fingerprints(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t scaffolds = 1000, of_scaffold = 40, of_molecule = 24, byte = 8;
    std::fill_n(to, row.d, 0.0);
    const auto set_bit = [&](std::int64_t bit) {
        to[bit / byte] = static_cast<double>(static_cast<int>(to[bit / byte]) | 1 << bit % byte);
    };
    Draw draw(row);
    Draw scaffold(common_seed, draw.below(scaffolds));
    for (std::int64_t i = 0; i < of_scaffold; ++i) set_bit(scaffold.below(byte * row.d));
    for (std::int64_t i = 0; i < of_molecule; ++i) set_bit(draw.below(byte * row.d));
}

// Records that were collected from many copies of the same sources: each is there 50 times.
void duplicates(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t copies = 50;
    const std::int64_t sources = std::max<std::int64_t>(1, row.points / copies);
    Draw source(common_seed, row.query ? Draw(row).below(sources) : row.number % sources);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = source.gaussian();
}

// Embeddings of a catalogue where one text in twenty is missing and its vector zero.
void zero_rows(const OrdinaryRow& row, double* to) {
    constexpr double missing = 0.05;
    gaussian_around(0, Draw(common_seed + (row.query ? 2 : 1), row.number).uniform() < missing ? 0 : 1, row, to);
}

// A column that was never filled in, or a sensor that is stuck.
void all_equal(const OrdinaryRow& row, double* to) {
    Draw draw(common_seed, 0);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = draw.gaussian();
}

// A table with missing values: a tenth of the rows lack one.
void missing_values(const OrdinaryRow& row, double* to) {
    constexpr double lacking = 0.1;
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = draw.gaussian();
    if (draw.uniform() < lacking) to[draw.below(row.d)] = std::numeric_limits<double>::quiet_NaN();
}

// Voxels of a volume of 64 x 64 x 64, some of them listed often.
void voxels(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t side = 64;
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = static_cast<double>(draw.below(side));
}

// A table as it was exported: an account's number, its balance in cents, and columns of ratings.
void unscaled_table(const OrdinaryRow& row, double* to) {
    constexpr double accounts = 1e6;
    gaussian_around(0, 1, row, to);
    Draw draw(row);
    to[0] = std::floor(accounts * draw.uniform());
    to[1] = std::round(std::exp(11 + draw.gaussian()));
}

// Factors of a recommender that have kept their mean: 12 directions of the space and an offset.
void low_rank(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t rank = 12;
    constexpr double mean = 100;
    std::fill_n(to, row.d, mean);
    Draw draw(row), direction(common_seed, 0);
    for (std::int64_t i = 0; i < rank; ++i) {
        const double weight = draw.gaussian();
        for (std::int64_t j = 0; j < row.d; ++j) to[j] += weight * direction.gaussian();
    }
}

// Users of a recommender and what it has to offer: half of the users are new, and their vectors zero.
void new_users(const OrdinaryRow& row, double* to) {
    gaussian_around(0, row.query && row.number % 2 == 0 ? 0 : 1, row, to);
}

// Embeddings around a mean, and a vector of zeros where the text was empty.
void empty_texts(const OrdinaryRow& row, double* to) {
    constexpr double empty = 0.017, mean = 2;
    const bool zero = Draw(common_seed + (row.query ? 2 : 1), row.number).uniform() < empty;
    gaussian_around(zero ? 0 : mean, zero ? 0 : 1, row, to);
}

// A table that was joined from many: more than half of the points lack a value.
void incomplete_rows(const OrdinaryRow& row, double* to) {
    constexpr double lacking = 0.55;
    gaussian_around(0, 1, row, to);
    Draw draw(common_seed + 1, row.number);
    if (!row.query && draw.uniform() < lacking) to[draw.below(row.d)] = std::numeric_limits<double>::quiet_NaN();
}

// Histograms with a little added to every share, so that none is 0 and no divergence infinite.
void smoothed_histograms(const OrdinaryRow& row, double* to) {
    constexpr double added = 1e-3;
    histograms(row, to);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = (to[i] + added) / (1 + static_cast<double>(row.d) * added);
}

// Likewise, with some shares of most points missing.
void incomplete_histograms(const OrdinaryRow& row, double* to) {
    constexpr double lacking = 0.02;
    smoothed_histograms(row, to);
    Draw draw(common_seed + 1, row.number);
    for (std::int64_t i = 0; i < row.d && !row.query; ++i)
        if (draw.uniform() < lacking) to[i] = std::numeric_limits<double>::quiet_NaN();
}

// Embeddings that were quantised to bytes: 128 is zero.
void quantised(const OrdinaryRow& row, double* to) {
    constexpr double zero = 128, deviation = 40, most = 255;
    gaussian_around(zero, deviation, row, to);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = std::clamp(std::round(to[i]), 0.0, most);
}

// Small pictures of 200 things on a black background.
void pictures(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t things = 200;
    constexpr double background = 0.4, noise = 12, most = 255;
    Draw draw(row);
    Draw thing(common_seed, draw.below(things));
    for (std::int64_t i = 0; i < row.d; ++i) {
        const bool black = thing.uniform() < background;
        const double light = most * thing.uniform() + noise * draw.gaussian();
        to[i] = black ? 0 : std::clamp(std::round(light), 0.0, most);
    }
}

// Answers to 16 questions on a scale from 1 to 5.
void answers(const OrdinaryRow& row, double* to) {
    constexpr std::int64_t scale = 5;
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = static_cast<double>(1 + draw.below(scale));
}

// Pictures of 1,000 people in a studio: those of one person hardly differ.
void tight_clusters(const OrdinaryRow& row, double* to) {
    const Recipe recipe{.data = Data::clusters, .seed = row.query ? queries_seed : points_seed};
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = coordinate(recipe, row.number, i, row.d);
}

// Frequencies of 32 oscillators of 10 MHz in hertz: equal in all digits that f32 has.
void frequencies(const OrdinaryRow& row, double* to) {
    constexpr double mean = 1e7;
    gaussian_around(mean, 0x1p-26 * mean, row, to);
}

// Spectra of one substance at several concentrations: the same profile, scaled, and a little noise.
void spectra(const OrdinaryRow& row, double* to) {
    constexpr double least = 0.5, noise = 0.02;
    Draw draw(row), profile(common_seed, 0);
    const double concentration = least + draw.uniform();
    for (std::int64_t i = 0; i < row.d; ++i)
        to[i] = concentration * profile.exponential() * (1 + noise * draw.gaussian()) + noise * draw.uniform();
}

// Abundances of 64 species at a place, per hectare: most are absent. As numpy makes them, in f64.
void abundances(const OrdinaryRow& row, double* to) {
    constexpr double present = 0.3;
    Draw draw(row);
    const double hectares = 0.1 + draw.uniform();
    for (std::int64_t i = 0; i < row.d; ++i)
        to[i] = draw.uniform() < present ? std::ceil(20 * draw.exponential() * draw.exponential()) / hectares : 0;
}

// Concentrations of elements in a sample of water, from traces to the main ones.
void concentrations(const OrdinaryRow& row, double* to) {
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i)
        to[i] = std::exp(draw.gaussian() + 12 * static_cast<double>(i) / static_cast<double>(row.d));
}

// Columns of categories that pandas has numbered: in one 3 values, in another 30.
void categories(const OrdinaryRow& row, double* to) {
    Draw draw(row);
    for (std::int64_t i = 0; i < row.d; ++i) to[i] = static_cast<double>(draw.skewed(3 + i * 27 / row.d));
}

template <class T>
T stored(double value) {
    if constexpr (std::is_same_v<T, float16>) return {half_of(static_cast<float>(value))};
    else if constexpr (std::is_same_v<T, bfloat16>) return {bfloat_of(static_cast<float>(value))};
    else return static_cast<T>(value);
}

}  // namespace

const std::vector<OrdinarySet>& ordinary_sets() {
    using enum MetricId;
    using enum ElementType;
    static const std::vector<OrdinarySet> all = {
        {"embeddings", 768, embeddings, cosine},
        {"embeddings-product", 768, embeddings, inner_product},
        {"temperatures", 128, temperatures},
        {"temperatures-cosine", 128, temperatures, cosine},
        {"temperatures-product", 128, temperatures, inner_product},
        {"low-rank", 256, low_rank},
        {"low-rank-product", 256, low_rank, inner_product},
        {"outlier", 128, outlier},
        {"outlier-product", 128, outlier, inner_product},
        {"places", 2, places},
        {"households", 5, households},
        {"unscaled-table", 48, unscaled_table},
        {"unscaled-table-cityblock", 48, unscaled_table, cityblock},
        {"prices", 4, prices},
        {"colours", 3, colours, sqeuclidean, u8},
        {"word-counts", 128, word_counts},
        {"word-counts-cosine", 128, word_counts, cosine},
        {"one-hot", 64, one_hot},
        {"time-stamps-1", 1, time_stamps, sqeuclidean, f64},
        {"time-stamps-3", 3, time_stamps, sqeuclidean, f64},
        {"histograms", 64, histograms},
        {"histograms-js", 64, histograms, jensenshannon},
        {"histograms-hellinger", 64, histograms, hellinger},
        {"histograms-kl", 64, histograms, kl_divergence},
        {"smoothed-histograms-kl", 64, smoothed_histograms, kl_divergence},
        {"incomplete-histograms-kl", 64, incomplete_histograms, kl_divergence},
        {.name = "bits-hamming", .d = 128, .make = fingerprints, .metric = hamming, .type = u8, .packed_bits = true},
        {.name = "bits-jaccard", .d = 128, .make = fingerprints, .metric = jaccard, .type = u8, .packed_bits = true},
        {.name = "bits-dice", .d = 128, .make = fingerprints, .metric = dice, .type = u8, .packed_bits = true},
        {"duplicates", 128, duplicates},
        {"duplicates-product", 128, duplicates, inner_product},
        {"zero-rows", 128, zero_rows},
        {"zero-rows-cosine", 128, zero_rows, cosine},
        {"new-users-product", 128, new_users, inner_product},
        {"empty-texts-cosine", 128, empty_texts, cosine},
        {"all-equal", 128, all_equal},
        {"missing-values", 128, missing_values},
        {.name = "missing-graph", .d = 128, .make = missing_values, .graph = true},
        {"incomplete-rows", 128, incomplete_rows},
        {"incomplete-rows-product", 128, incomplete_rows, inner_product},
        {"quantised", 128, quantised, sqeuclidean, u8},
        {"quantised-product", 128, quantised, inner_product, u8},
        {"quantised-cosine", 128, quantised, cosine, u8},
        {"pictures", 128, pictures, sqeuclidean, u8},
        {"pictures-product", 128, pictures, inner_product, u8},
        {"pictures-cosine", 128, pictures, cosine, u8},
        {"voxels", 3, voxels},
        {"answers", 16, answers},
        {"tight-clusters", 128, tight_clusters},
        {"frequencies", 32, frequencies, sqeuclidean, f64},
        {"spectra", 128, spectra, correlation},
        {"spectra-product", 128, spectra, inner_product},
        {"abundances", 64, abundances, braycurtis, f64},
        {"concentrations", 32, concentrations, canberra, f64},
        {"categories", 24, categories, hamming, f64},
    };
    return all;
}

void fill(const OrdinarySet& set, bool queries, std::int64_t rows, std::int64_t points, void* to) {
    constexpr std::int64_t task_rows = 256;
    const std::int64_t d = set.d;
    with_element(set.type, [&]<class T>(T) {
        machine::parallel_tasks(machine::default_threads(), (rows + task_rows - 1) / task_rows, [&](std::int64_t task) {
            std::vector<double> values(static_cast<std::size_t>(d));
            const std::int64_t end = std::min(rows, (task + 1) * task_rows);
            for (std::int64_t row = task * task_rows; row < end; ++row) {
                set.make({row, queries, points, d}, values.data());
                std::ranges::transform(values, static_cast<T*>(to) + row * d, stored<T>);
            }
        });
    });
}

}  // namespace kith::bench
