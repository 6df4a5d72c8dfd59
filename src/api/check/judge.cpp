// See judge.h.
#include "api/check/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "api/check/validate.h"

namespace kith::api {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

// Tolerance for distances from other programs, as a share of the largest.
constexpr double others_share = 0x1p-10;

// Maps consecutive numbers of a type, -inf to +inf, to consecutive integers; both zeros to 0.
template <class T, class Bits>
std::int64_t place_of(T value) {
    constexpr auto sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    const auto bits = std::bit_cast<Bits>(value);
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return bits & sign ? -magnitude : magnitude;
}

// The distance of two numbers of the type in units in the last place.
template <class T, class Bits>
std::int64_t ulp_between(T a, T b) {
    const std::int64_t x = place_of<T, Bits>(a), y = place_of<T, Bits>(b);
    std::int64_t between = 0;
    if (__builtin_sub_overflow(std::max(x, y), std::min(x, y), &between))
        return std::numeric_limits<std::int64_t>::max();
    return between;
}

}  // namespace

double Truth::none() const {
    return traits_of(metric.id).similarity ? -infinity : infinity;
}

RowJudge::RowJudge(const Truth& truth)
    : truth_(truth),
      distance_keys_(truth.metric, cpu::best_isa()),
      query_(1, truth.points.cols),
      point_(1, truth.points.cols),
      reported_(truth.metric) {}

double RowJudge::key(std::int64_t point) {
    distance_keys_.load_points(truth_.points, point, 1, point_);
    if (query_.nan()[0] || point_.nan()[0]) return nan;
    double key = 0;
    distance_keys_.compute(query_, 0, point_, 1, &key);
    return key;
}

double RowJudge::self_distance(std::int64_t point) {
    distance_keys_.load(truth_.points, point, 1, query_);
    const double own = key(point);
    return std::isnan(own) ? nan : reported_(own);
}

RowJudge::Keys RowJudge::keys_of(std::int64_t i, const std::vector<std::int64_t>& points) {
    distance_keys_.load(truth_.queries, i, 1, query_);
    Keys keys;
    for (const std::int64_t point : points) keys.emplace(point, key(point));
    return keys;
}

namespace {

// The fault of an id whose key is not the expected one. all_found: the ids are right;
// rounded: both distances round to the same value.
std::string why_misplaced(std::int64_t found, std::int64_t expected, std::int64_t place,
                          bool all_found, bool rounded) {
    if (all_found)
        return fmt::format("the ids are right, but not in the order of their distances (place {})",
                           place);
    if (rounded)
        return fmt::format(
            "id {} at place {} is farther than id {}, though both distances round to the same",
            found, place, expected);
    return fmt::format("id {} at place {} is not the right one", found, place);
}

}  // namespace

RowJudgement RowJudge::judge(std::int64_t i, const std::int64_t* found) {
    RowJudgement result;
    const std::int64_t k = truth_.k, own = truth_.include_self ? 1 : 0,
                       row = truth_.rows[static_cast<std::size_t>(i)];
    const std::int64_t* const expected = truth_.ids.data() + i * k;
    const double* const expected_distances = truth_.distances.data() + i * k;
    result.neighbours =
        std::count_if(expected + own, expected + k, [](std::int64_t id) { return id >= 0; });
    result.place = std::mismatch(found, found + k, expected).first - found;
    result.distances.assign(expected_distances, expected_distances + k);
    if (result.place == k) {
        result.hits = result.neighbours;
        return result;
    }
    result.exact = false;

    // Faults that do not depend on the order.
    std::vector<std::int64_t> points, places;  // valid ids, each once, and their positions
    std::unordered_set<std::int64_t> seen;
    const auto fault = [&](std::int64_t place, std::string why) {
        if (!result.why.empty()) return;
        result.why = std::move(why);
        result.place = place;
    };
    if (own && found[0] != expected[0])
        fault(0,
              expected[0] < 0
                  ? fmt::format("the row begins with id {}; point {} has a NaN, and no neighbours",
                                found[0], row)
                  : fmt::format("the row begins with id {}; expected its own point {}", found[0],
                                row));
    for (std::int64_t j = 0; j < k; ++j) {
        const std::int64_t id = found[j];
        result.distances[static_cast<std::size_t>(j)] = id == -1 ? truth_.none() : nan;
        if (id == -1) continue;
        if (id < 0 || id >= truth_.points.rows)
            fault(j, fmt::format("id {} is none of the {} points", id, truth_.points.rows));
        else if (truth_.graph && id == row && j >= own)
            fault(j, fmt::format("point {} lists itself", id));
        else if (!seen.insert(id).second) fault(j, fmt::format("id {} is listed twice", id));
        else {
            points.push_back(id);
            places.push_back(j);
        }
    }

    for (std::int64_t j = 0; j < k; ++j)
        if (expected[j] >= 0 && seen.insert(expected[j]).second) points.push_back(expected[j]);
    const Keys keys = keys_of(i, points);
    const auto key_of = [&](std::int64_t id) {
        const auto key = keys.find(id);
        return key == keys.end() ? nan : key->second;
    };
    const double last = result.neighbours > 0 ? key_of(expected[own + result.neighbours - 1]) : nan;
    for (const std::int64_t j : places) {
        const double key = key_of(found[j]);
        if (std::isnan(key)) {
            fault(j, query_.nan()[0]
                         ? fmt::format("id {} is listed, and the query has a NaN", found[j])
                         : fmt::format("point {} has no distance to the query (NaN)", found[j]));
            continue;
        }
        result.distances[static_cast<std::size_t>(j)] = reported_(key);
        if (j >= own && key <= last) ++result.hits;
    }
    result.hits = std::min(result.hits, result.neighbours);

    for (std::int64_t j = own; j < k && result.why.empty(); ++j) {
        if (found[j] == -1 && expected[j] >= 0)
            fault(j, fmt::format("no neighbour is listed at place {}, where there is one", j + 1));
        else if (found[j] >= 0 && expected[j] < 0)
            fault(j,
                  fmt::format("id {} is listed at place {}, where there is none", found[j], j + 1));
        else if (found[j] >= 0 && key_of(found[j]) != key_of(expected[j])) {
            const bool rounded =
                result.distances[static_cast<std::size_t>(j)] == expected_distances[j];
            fault(j, why_misplaced(found[j], expected[j], j + 1, result.hits == result.neighbours,
                                   rounded));
        }
    }
    return result;
}

bool DistanceJudge::agree(double found, double canonical) {
    if (std::isnan(canonical)) return true;
    ++distances_;
    const auto a = static_cast<float>(found), b = static_cast<float>(canonical);
    const bool wide = how_ == DistancesCompared::f64;
    if (wide ? found == canonical : a == b) return true;  // -0 equals 0
    if (!std::isnan(found)) {
        largest_ulp_ =
            std::max(largest_ulp_, wide ? ulp_between<double, std::uint64_t>(found, canonical)
                                        : ulp_between<float, std::uint32_t>(a, b));
        const double off = std::fabs(found - canonical);
        constexpr double least = std::numeric_limits<float>::min();
        const double share = off / std::max(std::fabs(canonical), least);
        largest_share_ = std::max(largest_share_, std::isnan(share) ? infinity : share);
        if (how_ == DistancesCompared::nearly && off <= others_share * scale_) return true;
    } else {
        ++nan_;
    }
    ++different_;
    return false;
}

std::string DistanceJudge::why(double found, double canonical, std::int64_t place) const {
    if (how_ == DistancesCompared::f32)
        return fmt::format("the distance at place {} is {}; expected {}", place + 1,
                           static_cast<float>(found), static_cast<float>(canonical));
    return fmt::format("the distance at place {} is {}; expected {}", place + 1, found, canonical);
}

void DistanceJudge::add_to(Verification& all) const {
    all.distances += distances_;
    all.different += different_;
    all.nan += nan_;
    all.largest_ulp = std::max(all.largest_ulp, largest_ulp_);
    all.largest_share = std::max(all.largest_share, largest_share_);
}

}  // namespace kith::api
