// The rows of a result on the host, each written to the caller's memory as soon as it is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/metric/reported_distance.h"
#include "cpu/primitives/top_k.h"
#include "exact/metric_spec.h"

namespace kith::cpu {

// Rows of k ids and, unless `distances` is null, k distances in f32 or f64. Does not own the
// arrays. Different threads may write different rows.
class Results {
public:
    // Writes the distances that the metric reports for ranks (distance keys).
    Results(const MetricSpec& metric, std::int64_t k, std::int64_t* ids, void* distances, bool f64)
        : Results(k, ids, distances, f64) {
        reported_ = ReportedDistance(metric);
    }
    // Writes the ranks themselves.
    Results(std::int64_t k, std::int64_t* ids, double* ranks) : Results(k, ids, ranks, true) {}

    std::int64_t k() const { return k_; }
    // Writes the best of a row in order. `best`: a TopK, or any class with its finish(). Missing
    // neighbours get id -1 and rank +inf.
    template <class Best>
    void put(std::int64_t row, Best& best) const {
        const std::vector<Neighbor>& found = best.finish();
        std::int64_t* id = ids_ + row * k_;
        std::int64_t* const end = id + k_;
        for (const Neighbor& n : found) *id++ = n.id;
        std::fill(id, end, std::int64_t{-1});
        if (!distances_) return;
        if (f64_) put_distances(found, static_cast<double*>(distances_) + row * k_);
        else put_distances(found, static_cast<float*>(distances_) + row * k_);
    }

private:
    Results(std::int64_t k, std::int64_t* ids, void* distances, bool f64)
        : k_(k), ids_(ids), distances_(distances), f64_(f64) {}

    template <class T>
    void put_distances(const std::vector<Neighbor>& found, T* out) const {
        T* const end = out + k_;
        for (const Neighbor& n : found) *out++ = static_cast<T>(reported_(n.rank));
        if (out != end)
            std::fill(out, end, static_cast<T>(reported_(std::numeric_limits<double>::infinity())));
    }

    std::int64_t k_;
    std::int64_t* ids_;
    void* distances_;
    bool f64_;
    ReportedDistance reported_;
};

}  // namespace kith::cpu
