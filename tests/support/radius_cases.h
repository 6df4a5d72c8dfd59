// Radius searches against the definition: the oracle's distances, and the bits of a search for all points.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kith/kith.h"
#include "search_cases.h"

namespace radius_cases {

using kith::ElementType;
using search_cases::Case;
using search_cases::Execution;

// All neighbours of each query in order, with distances of binary64.
inline kith::Neighbors all_of(const Case& c, bool graph = false) {
    kith::Options options;
    options.device = "cpu";
    options.metric = c.variant.metric;
    options.path = "exact";
    options.f64 = true;
    const std::int64_t n = c.points.view.rows;
    return graph ? kith::graph(c.points.view, n, options) : kith::search(c.points.view, c.queries.view, n, options);
}

// For each query a radius that a pair lies on, just within or just outside of, or one of the ends.
inline std::vector<double> radii_on(const kith::Neighbors& all, bool similarity, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> radii;
    for (std::int64_t i = 0; i < all.queries; ++i) {
        std::int64_t found = 0;
        while (found < all.k && all.ids[static_cast<std::size_t>(i * all.k + found)] >= 0) ++found;
        const auto turn = random.below(12);
        // Near ones as a rule.
        const std::int64_t most = turn % 3 == 0 ? found : std::min<std::int64_t>(found, 20);
        double r = 1;
        if (found > 0)
            r = all.distances64[static_cast<std::size_t>(
                i * all.k + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most))))];
        if (turn == 5 || turn == 6) r = std::nextafter(r, oracle::infinity);
        if (turn == 7 || turn == 8) r = std::nextafter(r, -oracle::infinity);
        if (turn == 9) r = 0;
        if (turn == 10) r = oracle::infinity;
        if (turn == 11) r *= 1.01;
        if (std::isnan(r)) r = 1;
        if (!similarity && r < 0) r = 0;
        radii.push_back(r);
    }
    return radii;
}

inline bool within(double distance, double r, bool open, bool similarity) {
    if (similarity) return open ? distance > r : distance >= r;
    return open ? distance < r : distance <= r;
}

// The entries of `all` that are within, in its order.
inline kith::RadiusNeighbors expected(const kith::Neighbors& all, const std::vector<double>& radii, bool open,
                                      bool similarity, bool f64) {
    kith::RadiusNeighbors want;
    want.queries = all.queries;
    want.offsets.push_back(0);
    for (std::int64_t i = 0; i < all.queries; ++i) {
        for (std::int64_t j = 0; j < all.k; ++j) {
            const auto at = static_cast<std::size_t>(i * all.k + j);
            const double distance = all.distances64[at];
            if (all.ids[at] < 0 || !within(distance, radii[static_cast<std::size_t>(i)], open, similarity)) continue;
            want.ids.push_back(all.ids[at]);
            if (f64) want.distances64.push_back(distance);
            else want.distances.push_back(static_cast<float>(distance));
        }
        want.offsets.push_back(static_cast<std::int64_t>(want.ids.size()));
    }
    return want;
}

// "" where both have the same rows and the same bits of distances.
inline std::string difference(const kith::RadiusNeighbors& want, const kith::RadiusNeighbors& got) {
    if (want.queries != got.queries || want.offsets.size() != got.offsets.size()) return "other queries";
    for (std::int64_t i = 0; i < want.queries; ++i) {
        const auto row = static_cast<std::size_t>(i);
        if (want.offsets[row + 1] - want.offsets[row] != got.offsets[row + 1] - got.offsets[row])
            return "row " + std::to_string(i) + " has " + std::to_string(got.offsets[row + 1] - got.offsets[row]) +
                   " points; expected " + std::to_string(want.offsets[row + 1] - want.offsets[row]);
    }
    if (want.ids != got.ids) return "other ids";
    const auto differ = [](const auto& a, const auto& b) {
        return a.size() != b.size() || (!a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) != 0);
    };
    if (differ(want.distances, got.distances) || differ(want.distances64, got.distances64)) return "other distances";
    return "";
}

inline std::vector<std::int64_t> counts_of(const kith::RadiusNeighbors& rows) {
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i + 1 < rows.offsets.size(); ++i) counts.push_back(rows.offsets[i + 1] - rows.offsets[i]);
    return counts;
}

inline kith::Radius radius_of(const std::vector<double>& radii, bool open) {
    kith::Radius r(kith::view(radii.data(), static_cast<std::int64_t>(radii.size()), 1));
    r.open = open;
    return r;
}

// The oracle's own word on which points are within: "" or the first pair on which the two differ.
inline std::string against_oracle(const Case& c, const std::vector<double>& radii, bool open,
                                  const kith::RadiusNeighbors& got) {
    const oracle::Definition& metric = oracle::definition(c.variant.name);
    const oracle::Matrix points = oracle::decode(c.points.view), queries = oracle::decode(c.queries.view);
    const int d = static_cast<int>(points.cols);
    for (std::int64_t i = 0; i < queries.rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        std::vector<bool> is_in(static_cast<std::size_t>(points.rows));
        for (std::int64_t at = got.offsets[row]; at < got.offsets[row + 1]; ++at)
            is_in[static_cast<std::size_t>(got.ids[static_cast<std::size_t>(at)])] = true;
        for (std::int64_t id = 0; id < points.rows; ++id) {
            const bool nan = oracle::has_nan(queries.row(i), d) || oracle::has_nan(points.row(id), d);
            bool can_be = false, must_be = false;
            if (!nan) {
                const oracle::Value rank =
                    oracle::ordered_rank(metric, c.variant.params, {queries.row(i), points.row(id), d});
                const auto [low, high] = oracle::reported(metric, rank, d, c.variant.params);
                const bool first = within(low, radii[row], open, metric.similarity);
                const bool last = within(high, radii[row], open, metric.similarity);
                can_be = first || last;
                must_be = first && last;
            }
            const bool is = is_in[static_cast<std::size_t>(id)];
            if ((is && !can_be) || (!is && must_be))
                return "query " + std::to_string(i) + ", point " + std::to_string(id) + (is ? " is" : " is not") +
                       " within " + std::to_string(radii[row]);
        }
    }
    return "";
}

// One search by radius, by counts, by blocks; nothing where a forced path or instruction set is refused.
inline std::optional<std::string> one(const std::string& device, const Case& c, const Execution& execution, bool open,
                                      bool f64, std::uint64_t seed) {
    const bool similarity = oracle::definition(c.variant.name).similarity;
    const kith::Neighbors all = all_of(c);
    const std::vector<double> radii = radii_on(all, similarity, seed);
    const kith::RadiusNeighbors want = expected(all, radii, open, similarity, f64);
    kith::Options options = search_cases::options_of(device, c.variant, execution, f64);
    const kith::Radius r = radius_of(radii, open);
    kith::RadiusNeighbors got;
    try {
        got = kith::radius(c.points.view, c.queries.view, r, options);
    } catch (const kith::Error& error) {
        if (error.code() != kith::ErrorCode::invalid_argument) throw;
        return std::nullopt;
    }
    std::string found = difference(want, got);
    if (!found.empty()) return found;
    found = against_oracle(c, radii, open, got);
    if (!found.empty()) return "oracle: " + found;
    const kith::Report& report = got.report;
    if (report.certified + report.retried + report.scanned != want.queries) return "report does not count all queries";
    const kith::RadiusCounts counts = kith::radius_counts(c.points.view, c.queries.view, r, options);
    if (counts.counts != counts_of(want)) return "other counts";
    return "";
}

// Every data set in every element type.
inline void every_data_set(const std::string& device, const std::string& metric) {
    const Execution executions[] = {{"", "", 0, false}, {"", "", 1, false}, {"exact", "", 2, false}};
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        for (ElementType type : arrays::element_types) {
            search_cases::Size size = search_cases::sizes[turn % std::size(search_cases::sizes)];
            if (metric == "mahalanobis") size.d = std::min<std::int64_t>(size.d, 33);
            const ElementType query_type = turn % 5 == 4 ? arrays::element_types[turn / 5 % 6] : type;
            const auto all = variants(metric, size.d, type);
            const Variant& variant = all[turn / 2 % all.size()];
            const ElementType other = variant.metric.packed_bits ? type : query_type;
            const Case c =
                search_cases::make_case(variant, data, size, type, other, arrays::shapes[turn % 3], 1000 + turn);
            const Execution& execution = executions[turn % std::size(executions)];
            const auto found = one(device, c, execution, turn % 2 == 1, turn % 4 < 2, turn);
            ASSERT_TRUE(found) << c.label << ", " << execution.label();
            ASSERT_EQ("", *found) << c.label << ", " << execution.label();
            ++turn;
        }
    }
}

// Every filter and instruction set, with points enough for tiles and lists.
inline void every_filter(const std::string& device, const std::string& metric) {
    std::uint64_t turn = metric.size();
    for (const std::string& data : adversarial::names()) {
        for (const char* path : {"gemm-bf16", "gemm-f32", "direct-f32"}) {
            ++turn;
            const ElementType type = turn % 3 == 0 ? ElementType::f64 : ElementType::f32;
            search_cases::Size size{1500, 40, turn % 2 ? 16 : 67, 1};
            if (metric == "mahalanobis") size.d = std::min<std::int64_t>(size.d, 33);
            const auto all = variants(metric, size.d, type);
            const Variant& variant = all[turn / 4 % all.size()];
            const Case c = search_cases::make_case(variant, data, size, type, type, arrays::Shape::dense, turn);
            const char* isas[] = {"", "avx2", "baseline", ""};
            const Execution execution{path, path == std::string("gemm-bf16") ? "" : isas[turn % 4],
                                      static_cast<int>(turn % 3), false};
            const auto found = one(device, c, execution, turn % 2 == 0, true, turn);
            if (!found) continue;
            ASSERT_EQ("", *found) << c.label << ", " << execution.label();
        }
    }
}

}  // namespace radius_cases
