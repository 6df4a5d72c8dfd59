// Judging listed neighbours against canonical ones.
#include "check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_set>

#include "files.h"

namespace kith::cli {
namespace {

constexpr float least_normal = std::numeric_limits<float>::min();

// Consecutive floats, -inf to +inf, as consecutive integers; both zeros are 0.
std::int64_t rank_of(float value) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(value));
    return bits & 0x80000000 ? 0x80000000 - bits : bits;
}

}  // namespace

RowChecker::RowChecker(const MatrixView& base, const MatrixView& queries, const Options& options, bool graph)
    : base_(base), queries_(queries), options_(options), graph_(graph) {}

// The order of a search is that of the ranks, and among equal ranks that of the points as they were given: what changes
// places when the points are given backwards is equal.
std::unordered_map<std::int64_t, RowChecker::Standing> RowChecker::standings(
    std::int64_t row, const std::vector<std::int64_t>& ids) const {
    std::unordered_map<std::int64_t, Standing> result;
    if (ids.empty()) return result;
    Options options = options_;
    options.f64 = true;
    options.memory = 0;
    options.path.clear();
    options.selector.clear();
    const Matrix query = gather(queries_, {row});
    const auto count = static_cast<std::int64_t>(ids.size());
    const auto ordered = [&](const std::vector<std::int64_t>& given) {
        return search(gather(base_, given).view(), query.view(), count, options);
    };
    const Neighbors forwards = ordered(ids);
    const Neighbors backwards = ordered({ids.rbegin(), ids.rend()});
    std::vector<std::int64_t> backward_place(ids.size());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = backwards.ids[static_cast<std::size_t>(i)];
        if (at >= 0) backward_place[static_cast<std::size_t>(count - 1 - at)] = i;
    }
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = forwards.ids[static_cast<std::size_t>(i)];
        if (at < 0) break;
        const auto place_of = [&](std::int64_t j) {
            return backward_place[static_cast<std::size_t>(forwards.ids[static_cast<std::size_t>(j)])];
        };
        if (i > 0 && place_of(i) > place_of(i - 1)) ++place;
        result[ids[static_cast<std::size_t>(at)]] = {forwards.distances64[static_cast<std::size_t>(i)], place};
    }
    return result;
}

double RowChecker::self_distance(std::int64_t row) const {
    const auto standing = standings(row, {row});
    return standing.empty() ? std::numeric_limits<double>::quiet_NaN() : standing.begin()->second.distance;
}

RowCheck RowChecker::check(std::int64_t row, std::int64_t k, const std::int64_t* listed, const std::int64_t* expected,
                           const double* expected_distances) const {
    RowCheck result;
    result.distances.assign(expected_distances, expected_distances + k);
    result.present = std::count_if(expected, expected + k, [](std::int64_t id) { return id >= 0; });
    result.first_place = std::mismatch(listed, listed + k, expected).first - listed;
    if (result.first_place == k) {
        result.hits = result.present;
        return result;
    }

    std::vector<std::int64_t> ids;  // the listed points, each once
    std::vector<std::int64_t> places;
    std::unordered_set<std::int64_t> seen;
    for (std::int64_t j = 0; j < k; ++j) {
        const std::int64_t id = listed[j];
        std::string fault;
        if (id < -1 || id >= base_.rows) fault = fmt::format("id {} is none of the {} points", id, base_.rows);
        else if (id >= 0 && graph_ && id == row) fault = fmt::format("point {} lists itself", id);
        else if (id >= 0 && !seen.insert(id).second) fault = fmt::format("id {} is listed twice", id);
        if (!fault.empty()) {
            if (result.why.empty()) result.why = fault;
        } else if (id >= 0) {
            ids.push_back(id);
            places.push_back(j);
        }
    }

    const bool larger_first = options_.metric.id == MetricId::inner_product;
    const double none =
        larger_first ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < k; ++j) {
        result.distances[static_cast<std::size_t>(j)] =
            listed[j] == -1 ? none : std::numeric_limits<double>::quiet_NaN();
    }
    for (std::int64_t j = 0; j < result.present; ++j) {
        if (!seen.count(expected[j])) ids.push_back(expected[j]);
    }
    const auto standing = standings(row, ids);
    const auto place_of = [&](std::int64_t id) {
        const auto found = standing.find(id);
        return found == standing.end() ? std::int64_t{-1} : found->second.place;
    };
    const std::int64_t last = result.present > 0 ? place_of(expected[result.present - 1]) : -1;
    for (const std::int64_t j : places) {
        const auto found = standing.find(listed[j]);
        if (found == standing.end()) {
            if (result.why.empty()) result.why = fmt::format("point {} has no distance to the query (NaN)", listed[j]);
            continue;
        }
        result.distances[static_cast<std::size_t>(j)] = found->second.distance;
        if (found->second.place <= last) ++result.hits;
    }
    result.hits = std::min(result.hits, result.present);

    for (std::int64_t j = 0; j < k && result.why.empty(); ++j) {
        if (listed[j] == -1 && expected[j] >= 0) {
            result.why = fmt::format("no neighbour is listed at place {}, where there is one", j + 1);
        } else if (listed[j] >= 0 && expected[j] < 0) {
            result.why = fmt::format("id {} is listed at place {}, where there is none", listed[j], j + 1);
        } else if (listed[j] >= 0 && place_of(listed[j]) != place_of(expected[j])) {
            const bool rounded = result.distances[static_cast<std::size_t>(j)] == expected_distances[j];
            result.why =
                result.hits == result.present
                    ? fmt::format("the ids are right, but not in the order of their distances (place {})", j + 1)
                : rounded ? fmt::format(
                                "id {} at place {} is farther than id {}, though both distances round to the "
                                "same",
                                listed[j], j + 1, expected[j])
                          : fmt::format("id {} at place {} is not the right one", listed[j], j + 1);
            result.first_place = j;
        }
    }
    result.verdict = result.why.empty() ? Verdict::tied : Verdict::wrong;
    return result;
}

void DistanceCheck::compare(double listed, double canonical) {
    if (std::isnan(canonical)) return;  // not a point: that row is wrong already
    ++compared;
    const auto a = static_cast<float>(listed);
    const auto b = static_cast<float>(canonical);
    if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return;
    ++different;
    if (std::isnan(a)) {
        ++nan;
        return;
    }
    largest_ulp = std::max<std::int64_t>(largest_ulp, std::abs(rank_of(a) - rank_of(b)));
    const double share = std::fabs(listed - canonical) / std::max(std::fabs(canonical), double{least_normal});
    largest_share = std::max(largest_share, std::isnan(share) ? std::numeric_limits<double>::infinity() : share);
}

}  // namespace kith::cli
