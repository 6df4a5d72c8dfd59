// Patches of a image's pyramids as feature vectors; see retrieval.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "api/guard.h"
#include "api/validate.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/split_mix.h"
#include "kith/retrieval.h"

namespace kith {

namespace {

constexpr std::int64_t least_side = 32;
constexpr int octaves = 4;  // beyond the image itself
constexpr std::int64_t most_fine = 4800, most_coarse = 2400, most_low = 1200;

// One number for each place.
struct Plane {
    std::int64_t height = 0, width = 0;
    std::vector<double> values;

    Plane() = default;
    Plane(std::int64_t h, std::int64_t w)
        : height(h), width(w), values(static_cast<std::size_t>(h * w)) {}
    double& at(std::int64_t y, std::int64_t x) {
        return values[static_cast<std::size_t>(y * width + x)];
    }
    double at(std::int64_t y, std::int64_t x) const {
        return values[static_cast<std::size_t>(y * width + x)];
    }
};

// Beyond the edge as within it, the edge itself once: ... 2 1 [0 1 2 ... n - 1] n - 2 ...
std::int64_t reflected(std::int64_t i, std::int64_t n) {
    if (i < 0) i = -i;
    return i < n ? i : 2 * (n - 1) - i;
}

// Smoothed and halved: every second place.
Plane halved(const Plane& from) {
    constexpr std::array taps = {1.0 / 16, 4.0 / 16, 6.0 / 16, 4.0 / 16, 1.0 / 16};
    Plane narrow(from.height, (from.width + 1) / 2), out((from.height + 1) / 2, narrow.width);
    for (std::int64_t y = 0; y < narrow.height; ++y)
        for (std::int64_t x = 0; x < narrow.width; ++x)
            for (int t = 0; t < 5; ++t)
                narrow.at(y, x) += taps[static_cast<std::size_t>(t)] *
                                   from.at(y, reflected(2 * x + t - 2, from.width));
    for (std::int64_t y = 0; y < out.height; ++y)
        for (std::int64_t x = 0; x < out.width; ++x)
            for (int t = 0; t < 5; ++t)
                out.at(y, x) += taps[static_cast<std::size_t>(t)] *
                                narrow.at(reflected(2 * y + t - 2, from.height), x);
    return out;
}

// A value between those of every second place, by the same taps.
template <class At>
double between(std::int64_t i, std::int64_t n, const At& at) {
    const std::int64_t half = i / 2;
    if (i % 2 == 1) return (at(half) + at(std::min(half + 1, n - 1))) / 2;
    return (at(reflected(half - 1, n)) + 6 * at(half) + at(reflected(half + 1, n))) / 8;
}

// To twice the sides, which may be one less.
Plane doubled(const Plane& from, std::int64_t height, std::int64_t width) {
    Plane wide(from.height, width), out(height, width);
    for (std::int64_t y = 0; y < from.height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            wide.at(y, x) = between(x, from.width, [&](std::int64_t i) { return from.at(y, i); });
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            out.at(y, x) = between(y, from.height, [&](std::int64_t i) { return wide.at(i, x); });
    return out;
}

// The steps of the finest grid of at most `most` places: one side's grows, then the other's.
std::pair<std::int64_t, std::int64_t> steps_of(const Plane& plane, std::int64_t most) {
    std::int64_t down = 1, across = 1;
    const auto places = [](std::int64_t n, std::int64_t step) { return (n + step - 1) / step; };
    while (places(plane.height, down) * places(plane.width, across) > most)
        ++(across <= down ? across : down);
    return {down, across};
}

// 3 x 3 of each plane, side by side, on a grid of at most `most` places.
FeatureSet patches(const std::vector<const Plane*>& planes, std::int64_t most) {
    const Plane& first = *planes[0];
    const auto [down, across] = steps_of(first, most);
    FeatureSet out;
    out.d = 9 * static_cast<std::int64_t>(planes.size());
    for (std::int64_t y = 0; y < first.height; y += down) {
        for (std::int64_t x = 0; x < first.width; x += across, ++out.n) {
            for (const Plane* plane : planes)
                for (std::int64_t v = y - 1; v <= y + 1; ++v)
                    for (std::int64_t u = x - 1; u <= x + 1; ++u)
                        out.values.push_back(static_cast<float>(
                            plane->at(reflected(v, plane->height), reflected(u, plane->width))));
        }
    }
    return out;
}

// Luminance, and of colours the differences of red and blue from it (ITU-R BT.601).
std::vector<Plane> planes_of(const MatrixView& image, int channels, std::uint64_t seed) {
    const std::int64_t height = image.rows, width = image.cols / channels;
    const bool whole = image.type == ElementType::u8 || image.type == ElementType::i8;
    const auto level = [&](std::int64_t y, std::int64_t column) {
        const double value = exact::load(image.data, image.type, exact::offset(image, y, column));
        if (!std::isfinite(value))
            refuse("image: row {}, column {} is {}; expected finite values", y, column, value);
        if (!whole) return value;
        const auto place = static_cast<std::uint64_t>(y * image.cols + column);
        return value + static_cast<double>(split_mix(seed, place) >> 11) * 0x1p-53 - 0.5;
    };
    std::vector<Plane> out(static_cast<std::size_t>(channels), Plane(height, width));
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
            const double red = level(y, channels * x);
            if (channels == 1) {
                out[0].at(y, x) = red;
                continue;
            }
            const double green = level(y, channels * x + 1), blue = level(y, channels * x + 2);
            const double luminance = 0.299 * red + 0.587 * green + 0.114 * blue;
            out[0].at(y, x) = luminance;
            out[1].at(y, x) = 0.713 * (red - luminance);
            out[2].at(y, x) = 0.564 * (blue - luminance);
        }
    }
    return out;
}

}  // namespace

std::vector<FeatureSet> image_features(const MatrixView& image, int channels, std::uint64_t seed) {
    return api::guarded([&] {
        api::check_view(image, "image");
        if (channels != 1 && channels != 3) refuse("channels: {}; expected 1 or 3", channels);
        if (image.device != host_memory)
            refuse("image: on cuda:{}; expected host memory", image.device);
        if (image.cols % channels != 0 || image.rows < least_side ||
            image.cols / channels < least_side)
            refuse("image: {} x {} of {} channels; expected both sides at least {}", image.rows,
                   image.cols, channels, least_side);
        std::vector<Plane> planes = planes_of(image, channels, seed);
        std::vector<Plane> luminance{std::move(planes[0])};
        for (int octave = 0; octave < octaves; ++octave)
            luminance.push_back(halved(luminance.back()));
        // What an octave has beyond the next coarser one.
        std::vector<Plane> bands;
        for (std::size_t s = 0; s + 1 < luminance.size(); ++s) {
            Plane band = luminance[s];
            const Plane coarse = doubled(luminance[s + 1], band.height, band.width);
            for (std::size_t i = 0; i < band.values.size(); ++i) band.values[i] -= coarse.values[i];
            bands.push_back(std::move(band));
        }
        std::vector<const Plane*> low{&luminance[3]};
        for (std::size_t c = 1; c < planes.size(); ++c) {
            for (int octave = 0; octave < 3; ++octave) planes[c] = halved(planes[c]);
            low.push_back(&planes[c]);
        }
        const Plane above_fine = doubled(bands[2], bands[1].height, bands[1].width);
        const Plane above_coarse = doubled(bands[3], bands[2].height, bands[2].width);
        return std::vector<FeatureSet>{patches({&bands[1], &above_fine}, most_fine),
                                       patches({&bands[2], &above_coarse}, most_coarse),
                                       patches(low, most_low)};
    });
}

}  // namespace kith
