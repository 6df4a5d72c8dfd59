// Coarse forms of the direct filter on a GPU: their kernels stay within the bound (the attacks of coarse_forms.h), and
// searches of divergences have the scan's answers whatever one logarithm cannot tell apart. Searches of whole numbers
// are in test_gpu_bytes.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "arrays.h"
#include "coarse_forms.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu_arrays.h"
#include "held_searches.h"
#include "kith/kith.h"

namespace {

using namespace coarse_forms;
using held_searches::Coordinate;
using held_searches::Random;
using held_searches::rows_of;
using held_searches::Seen;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t tile = gpu::filter_tile_points;

template <class T>
gpu::Buffer<T> on_device(const std::vector<T>& values) {
    gpu::Buffer<T> out(std::ssize(values), nullptr);
    EXPECT_EQ(cudaSuccess, cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyDefault));
    return out;
}

// Every value of a query with up to a tile of points, as words; the half norms of padding are +inf.
std::vector<float> values_of(const exact::DirectForm& form, const std::vector<float>& query, float query_term,
                             const std::vector<std::vector<float>>& points, std::vector<float> half_norms) {
    const auto width = std::ssize(query);
    const auto panels = [&](const std::vector<std::vector<float>>& rows) {
        std::vector<float> words(static_cast<std::size_t>(tile * width));
        for (std::int64_t row = 0; row < std::ssize(rows); ++row)
            for (std::int64_t i = 0; i < width; ++i)
                words[static_cast<std::size_t>(gpu::direct_place(row, i, width))] =
                    rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)];
        return on_device(words);
    };
    half_norms.resize(static_cast<std::size_t>(tile), infinity);
    const auto queries = panels({query}), words = panels(points);
    const auto h = on_device(half_norms), term = on_device(std::vector<float>{query_term});
    gpu::Buffer<float> all(tile, nullptr);
    gpu::FilterPass pass;
    pass.step = form.step;
    pass.coordinates = form.coordinates;
    pass.exponent = form.exponent;
    pass.queries = queries.get();
    pass.query_term = term.get();
    pass.points = words.get();
    pass.half_norm = h.get();
    pass.q = 1;
    pass.n = pass.count = std::ssize(points);
    pass.width = width;
    pass.all = all.get();
    pass.ld = tile;
    gpu::sweep(pass, gpu::FilterIsa::sm_80, nullptr);
    std::vector<float> values(static_cast<std::size_t>(tile));
    EXPECT_EQ(cudaSuccess, cudaMemcpy(values.data(), all.get(), values.size() * sizeof(float), cudaMemcpyDefault));
    return values;
}

TEST(GpuCoarse, DivergencesByLogarithms) {
    share_sets([](const exact::DirectForm& form, std::int64_t d, const Vector& query, const std::vector<Vector>& points,
                  const char* what) {
        const ShareRow q = share_row(query, false);
        std::vector<ShareRow> rows;
        std::vector<std::vector<float>> words;
        std::vector<float> half_norms;
        for (const Vector& point : points) {
            rows.push_back(share_row(point, true));
            words.push_back(rows.back().words);
            half_norms.push_back(rows.back().half_norm);
        }
        const std::vector<float> values = values_of(form, q.words, q.term, words, half_norms);
        for (std::size_t p = 0; p < points.size(); ++p)
            within_error(form, q, rows[p], values[p], divergence(query, points[p]), what, d);
        // To the end of the panel.
        for (std::size_t p = points.size(); p < 128; ++p) ASSERT_EQ(infinity, values[p]);
    });
}

// +inf of padding and NaN points stays, and so does the -inf of a point that is not covered, whatever its words are.
TEST(GpuCoarse, HalfNormsStay) {
    const exact::DirectForm form = coarse(Direct::divergence, 1);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> values = values_of(form, {1}, 2, {{infinity}, {nan}, {infinity}, {nan}, {3e38f}},
                                                {infinity, infinity, -infinity, -infinity, infinity});
    EXPECT_EQ((std::vector<float>{infinity, infinity, -infinity, -infinity, infinity, infinity}),
              std::vector<float>(values.begin(), values.begin() + 6));
}

// Whole numbers of +-1024, two to a word: the values are exact.
TEST(GpuCoarse, MaximaOfWholeNumbers) {
    std::mt19937_64 random(5);
    for (const std::int64_t width : {1, 2, 15, 16, 17, 40, 100}) {
        for (const int range : {2049, 3, 900}) {
            const exact::DirectForm form = coarse(Direct::maximum, 2 * width);
            const auto row = [&] {
                std::vector<int> v(static_cast<std::size_t>(2 * width));
                for (int& x : v) x = static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2;
                return v;
            };
            const auto words = [&](const std::vector<int>& v) {
                std::vector<float> out;
                for (std::size_t i = 0; i < v.size(); i += 2) {
                    const auto bits = [](int x) {
                        return static_cast<std::uint32_t>(__half_as_ushort(__float2half(static_cast<float>(x))));
                    };
                    out.push_back(std::bit_cast<float>(bits(v[i]) | bits(v[i + 1]) << 16));
                }
                return out;
            };
            const std::vector<int> query = row();
            std::vector<std::vector<int>> points;
            std::vector<std::vector<float>> point_words;
            for (std::int64_t p = 0; p < tile; ++p) {
                points.push_back(row());
                if (p % 5 == 0) points.back() = query;
                // The largest difference in any one place.
                points.back()[static_cast<std::size_t>(p % (2 * width))] = p % 2 ? -1024 : 1024;
                point_words.push_back(words(points.back()));
            }
            const std::vector<float> values =
                values_of(form, words(query), 0, point_words, std::vector<float>(static_cast<std::size_t>(tile), 0.0f));
            for (std::size_t p = 0; p < points.size(); ++p) {
                int most = 0;
                for (std::size_t i = 0; i < query.size(); ++i) most = std::max(most, std::abs(query[i] - points[p][i]));
                ASSERT_EQ(static_cast<float>(most), values[p]) << "width " << width << ", point " << p;
            }
        }
    }
}

// Bytes, four to a word: the sums are exact up to 2^24, and 32 bits hold them up to 65,536 dimensions.
TEST(GpuCoarse, SquaresOfBytes) {
    std::mt19937_64 random(6);
    for (const std::int64_t width : {1, 2, 15, 16, 17, 40, 16384}) {
        for (const unsigned range : {256U, 3U}) {
            const exact::DirectForm form = coarse(Direct::squares, 4 * width);
            ASSERT_EQ(exact::Coordinates::rounded_bytes, form.coordinates);
            const auto row = [&] {
                std::vector<std::uint32_t> words(static_cast<std::size_t>(width));
                for (std::uint32_t& word : words)
                    for (int b = 0; b < 4; ++b) word = word << 8 | static_cast<std::uint32_t>(random() % range);
                return words;
            };
            const auto as_floats = [](const std::vector<std::uint32_t>& words) {
                std::vector<float> out;
                for (const std::uint32_t word : words) out.push_back(std::bit_cast<float>(word));
                return out;
            };
            std::vector<std::uint32_t> query = row();
            if (range == 256) query.assign(query.size(), 0xff00ff00U);
            std::vector<std::vector<std::uint32_t>> points;
            std::vector<std::vector<float>> words;
            for (std::int64_t p = 0; p < tile; ++p) {
                points.push_back(row());
                if (p % 5 == 0) points.back() = query;
                if (p % 5 == 1) points.back().assign(query.size(), 0x00ff00ffU);
                points.back()[static_cast<std::size_t>(p % width)] = p % 2 ? 0 : 0xffffffffU;
                words.push_back(as_floats(points.back()));
            }
            const std::vector<float> values =
                values_of(form, as_floats(query), 0, words, std::vector<float>(static_cast<std::size_t>(tile), 0.0f));
            for (std::size_t p = 0; p < points.size(); ++p) {
                std::uint64_t sum = 0;
                for (std::size_t i = 0; i < query.size(); ++i) {
                    for (int b = 0; b < 32; b += 8) {
                        const auto difference = static_cast<std::int64_t>(query[i] >> b & 0xffU) -
                                                static_cast<std::int64_t>(points[p][i] >> b & 0xffU);
                        sum += static_cast<std::uint64_t>(difference * difference);
                    }
                }
                ASSERT_EQ(static_cast<float>(sum), values[p]) << "width " << width << ", point " << p;
            }
        }
    }
}

// ---- searches of jensenshannon

constexpr std::int64_t n = 20000, q = 300, k = 10;

Seen hold(const std::vector<double>& points, const std::vector<double>& queries, std::int64_t d, ElementType type,
          const std::string& what) {
    return held_searches::hold(MetricId::jensenshannon, points, queries, d, k, type, type, what);
}

const std::map<std::string, Coordinate>& kinds() {
    static const std::map<std::string, Coordinate> all = {
        {"sparse", [](Random& r, auto, auto) { return r.below(8) ? 0 : r.share(); }},
        {"one-hot", [](Random&, std::int64_t row, std::int64_t column) { return row % 17 == column ? 1.0 : 0.0; }},
        {"tiny shares", [](Random& r, auto, auto) { return r.below(3) ? r.share() : 1e-30 * r.share(); }},
        {"denormals", [](Random& r, auto, auto) { return r.below(3) ? r.share() : 1e-40 * r.share(); }},
        {"all denormals", [](Random& r, auto, auto) { return 1e-42 * r.share(); }},
        {"rows of zeros", [](Random& r, std::int64_t row, auto) { return row % 100 == 7 ? 0 : r.share(); }},
        {"equal rows",
         [](Random&, std::int64_t row, std::int64_t column) {
             return 1.5 + std::sin(static_cast<double>(row % 2000 * 131 + column * 17));
         }},
        {"rows of any size",
         [](Random& r, std::int64_t row, auto) { return std::ldexp(r.share(), static_cast<int>(row % 200) - 100); }},
        {"tight clusters",
         [](Random& r, std::int64_t row, std::int64_t column) {
             return 1.5 + std::sin(static_cast<double>(row % 150 * 131 + column * 17)) + 1e-4 * std::abs(r.gaussian());
         }},
        {"counts", [](Random& r, auto, auto) { return static_cast<double>(r.below(30)); }},
    };
    return all;
}

TEST(GpuCoarse, DivergencesOfAnyRows) {
    unsigned seed = 1;
    for (const auto& [what, kind] : kinds()) {
        for (const std::int64_t d : {3, 20, 130}) {
            hold(rows_of(n, d, seed, kind), rows_of(q, d, seed + 1000, kind), d,
                 seed % 2 ? ElementType::f32 : ElementType::f64, what + ", d " + std::to_string(d));
            ++seed;
        }
    }
    const Coordinate counts = [](Random& r, auto, auto) { return static_cast<double>(r.below(200)); };
    hold(rows_of(n, 33, 5, counts), rows_of(q, 33, 6, counts), 33, ElementType::u8, "u8");
}

TEST(GpuCoarse, OrdinaryDivergencesAreCertified) {
    const Coordinate share = [](Random& r, auto, auto) { return r.share(); };
    for (const std::int64_t d : {16, 128}) {
        const Seen seen = hold(rows_of(n, d, 3, share), rows_of(q, d, 4, share), d, ElementType::f32,
                               "ordinary, d " + std::to_string(d));
        EXPECT_EQ(q, seen.certified) << d;
        EXPECT_LT(seen.candidates, 4.0 * q * k) << d;
    }
}

// A sample that says nothing of the rest, whose rows are nearer to each other than one logarithm tells: it is given up
// for the polynomial, at once and for the searches that follow.
TEST(GpuCoarse, ASampleMisleads) {
    for (const std::int64_t d : {16, 129}) {
        const Coordinate near = [](Random& r, auto, std::int64_t column) {
            return 1 + static_cast<double>(column % 7) + 3e-3 * r.gaussian();
        };
        const Coordinate some = [near](Random& r, std::int64_t row, std::int64_t column) {
            const bool sampled = (row * 64 + 63) % n < 64;
            return sampled ? r.share() : near(r, row, column);
        };
        const Seen seen = hold(rows_of(n, d, 7, some), rows_of(q, d, 8, near), d, ElementType::f32,
                               "a sample misleads, d " + std::to_string(d));
        EXPECT_EQ(0, seen.scanned);
        EXPECT_EQ(q, seen.last_certified) << "logarithms are tried again";
    }
}

}  // namespace
