// Truth: the oracle's answer to one search, and how another answer differs from it.
#pragma once

#include <cmath>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "oracle.h"

class Truth {
public:
    // With `graph`, `queries` is ignored: they are the points.
    Truth(const std::string& metric, const oracle::Parameters& params, const kith::MatrixView& points,
          const kith::MatrixView& queries, std::int64_t k, bool graph = false)
        : Truth(oracle::definition(metric), params, points, queries, k, graph) {}
    // For a metric that the list does not name; `definition` must outlive this.
    Truth(const oracle::Definition& definition, const oracle::Parameters& params, const kith::MatrixView& points,
          const kith::MatrixView& queries, std::int64_t k, bool graph = false)
        : metric_(definition),
          params_(params),
          points_(oracle::decode(points)),
          queries_(oracle::decode(graph ? points : queries)),
          graph_(graph),
          answer_(oracle::search(metric_, params, points_, queries_, k, graph)) {}

    // "" where `got` is right: the same ids, and the bits of the distances rounded to its type. Ids may differ, and
    // distances be off, by the slack of a metric that has one.
    std::string difference(const kith::Neighbors& got) const {
        const oracle::FloatState state;
        const bool f64 = !got.distances64.empty();
        const std::size_t cells = answer_.ids.size();
        if (got.queries != answer_.queries || got.k != answer_.k || got.ids.size() != cells ||
            (f64 ? got.distances64.size() : got.distances.size()) != cells) {
            return "shape " + std::to_string(got.queries) + " x " + std::to_string(got.k) + " with " +
                   std::to_string(got.ids.size()) + " ids";
        }
        for (std::int64_t row = 0; row < answer_.queries; ++row) {
            std::set<std::int64_t> seen;
            std::vector<oracle::Value> ranks;
            for (std::int64_t j = 0; j < answer_.k; ++j) {
                const std::size_t cell = static_cast<std::size_t>(row * answer_.k + j);
                const std::int64_t id = got.ids[cell];
                const double distance = f64 ? got.distances64[cell] : static_cast<double>(got.distances[cell]);
                if (id >= 0 && !seen.insert(id).second) return describe(row, j, id, distance, "listed twice");
                if (!right_id(row, id, cell, ranks)) return describe(row, j, id, distance, "wrong id");
                if (!right_distance(rank(row, id), distance, f64))
                    return describe(row, j, id, distance, "wrong distance");
            }
        }
        return "";
    }

private:
    oracle::Value rank(std::int64_t row, std::int64_t id) const {
        if (id < 0) return {oracle::infinity};
        return oracle::ordered_rank(metric_, params_,
                                    {queries_.row(row), points_.row(id), static_cast<int>(points_.cols)});
    }

    bool takes_part(std::int64_t row, std::int64_t id) const {
        return !(graph_ && id == row) && !oracle::has_nan(points_.row(id), points_.cols);
    }

    // Points whose ranks' slacks cannot tell them apart may change places, and others shift by that. `ranks`: of all
    // points for that row, or empty so far.
    bool right_id(std::int64_t row, std::int64_t id, std::size_t cell, std::vector<oracle::Value>& ranks) const {
        if (id == answer_.ids[cell]) return true;
        if (id < 0 || answer_.ids[cell] < 0 || id >= points_.rows || !takes_part(row, id)) return false;
        for (std::int64_t other = std::ssize(ranks); other < points_.rows; ++other) ranks.push_back(rank(row, other));
        const oracle::Value own = ranks[static_cast<std::size_t>(id)];
        std::int64_t before = 0, perhaps = 0;
        for (std::int64_t other = 0; other < points_.rows; ++other) {
            if (other == id || !takes_part(row, other)) continue;
            const oracle::Value v = ranks[static_cast<std::size_t>(other)];
            const double slack = own.slack + v.slack;
            // Infinite values are distinguished, whatever their slack.
            if (slack == 0 || !std::isfinite(v.value) || !std::isfinite(own.value) || !oracle::same_band(v, own))
                before += oracle::before(v, own) || (!oracle::before(own, v) && other < id);
            else if (v.value + slack < own.value) ++before;
            else if (!(v.value - slack > own.value)) ++perhaps;
        }
        const auto place = static_cast<std::int64_t>(cell) % answer_.k;
        return before <= place && place <= before + perhaps;
    }

    bool right_distance(const oracle::Value& rank, double got, bool f64) const {
        const int d = static_cast<int>(points_.cols);
        const auto [low, high] = oracle::reported(metric_, rank, d, params_);
        const auto rounded = [&](double v) { return f64 ? v : static_cast<double>(static_cast<float>(v)); };
        const double least = rounded(low), most = rounded(high);
        if (std::memcmp(&least, &most, sizeof least) == 0) return std::memcmp(&least, &got, sizeof got) == 0;
        return least <= got && got <= most;
    }

    std::string describe(std::int64_t row, std::int64_t j, std::int64_t id, double distance, const char* what) const {
        const std::size_t cell = static_cast<std::size_t>(row * answer_.k + j);
        const oracle::Value want = answer_.ranks[cell];
        std::ostringstream text;
        text.precision(17);
        text << what << " in row " << row << ", neighbour " << j << ": got id " << id << " at " << distance
             << "; expected id " << answer_.ids[cell] << " at "
             << oracle::reported(metric_, want, static_cast<int>(points_.cols), params_).first << " (rank "
             << want.value << "), where id " << id << " has rank "
             << (id < points_.rows ? rank(row, id).value : oracle::infinity);
        return text.str();
    }

    const oracle::Definition& metric_;
    oracle::Parameters params_;
    oracle::Matrix points_, queries_;
    bool graph_;
    oracle::Answer answer_;
};
