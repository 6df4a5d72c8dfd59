// Judging listed neighbours against canonical ones.
#include "check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "files.h"

namespace kith::cli {
namespace {

// Consecutive floats, -inf to +inf, as consecutive integers; both zeros are 0.
std::int64_t rank_of(float value) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(value));
    return bits & 0x80000000 ? 0x80000000 - bits : bits;
}

}  // namespace

RowJudge::RowJudge(const MatrixView& base, const MatrixView& queries, const Options& options, bool graph)
    : base_(base), queries_(queries), options_(options), graph_(graph) {}

std::vector<double> RowJudge::distances_of(std::int64_t row, const std::vector<std::int64_t>& ids) const {
    std::vector<double> distances(ids.size(), std::numeric_limits<double>::quiet_NaN());
    if (ids.empty()) return distances;
    Options options = options_;
    options.f64 = true;
    options.memory = 0;
    options.path.clear();
    options.selector.clear();
    const Matrix query = gather(queries_, {row});
    const bool depends_on_all_points =
        options.metric.id == MetricId::mahalanobis && options.metric.inverse_covariance.data == nullptr;
    std::unordered_map<std::int64_t, double> known;
    if (depends_on_all_points) {
        const Neighbors all = search(base_, query.view(), base_.rows, options);
        for (std::size_t i = 0; i < all.ids.size(); ++i) known[all.ids[i]] = all.distances64[i];
    } else {
        const Matrix points = gather(base_, ids);
        const Neighbors all = search(points.view(), query.view(), points.info.rows, options);
        for (std::size_t i = 0; i < all.ids.size(); ++i) {
            if (all.ids[i] >= 0) known[ids[static_cast<std::size_t>(all.ids[i])]] = all.distances64[i];
        }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto found = known.find(ids[i]);
        if (found != known.end()) distances[i] = found->second;
    }
    return distances;
}

RowCheck RowJudge::check(std::int64_t row, std::int64_t k, const std::int64_t* listed, const std::int64_t* expected,
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
    const std::vector<double> distances = distances_of(row, ids);
    const double last = result.present > 0 ? expected_distances[result.present - 1] : none;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const double distance = distances[i];
        result.distances[static_cast<std::size_t>(places[i])] = distance;
        if (std::isnan(distance)) {
            if (result.why.empty()) result.why = fmt::format("point {} has no distance to the query (NaN)", ids[i]);
        } else if (result.present > 0 && (larger_first ? distance >= last : distance <= last)) {
            ++result.hits;
        }
    }
    result.hits = std::min(result.hits, result.present);

    for (std::int64_t j = 0; j < k && result.why.empty(); ++j) {
        const double distance = result.distances[static_cast<std::size_t>(j)];
        if (listed[j] == -1 && expected[j] >= 0) {
            result.why = fmt::format("no neighbour is listed at place {}, where there is one", j + 1);
        } else if (listed[j] >= 0 && expected[j] < 0) {
            result.why = fmt::format("id {} is listed at place {}, where there is none", listed[j], j + 1);
        } else if (distance != expected_distances[j]) {
            result.why =
                result.hits == result.present
                    ? fmt::format("the ids are right, but not in the order of their distances (place {})", j + 1)
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
    const std::int64_t ulp =
        std::isnan(a) ? std::numeric_limits<std::int64_t>::max() : std::abs(rank_of(a) - rank_of(b));
    largest_ulp = std::max(largest_ulp, ulp);
}

}  // namespace kith::cli
