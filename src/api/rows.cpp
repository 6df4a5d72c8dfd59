// Copies of rows; see rows.h.
#include "api/rows.h"

#include <algorithm>
#include <limits>

#include "api/validate.h"
#include "cpu/primitives/top_k.h"
#include "exact/element.h"
#include "gpu/backend.h"

namespace kith::api {

namespace {

constexpr double no_key = std::numeric_limits<double>::infinity();

// Where `own` is among the first k of a row of k + 1, else k: what a row of a graph leaves out.
std::int64_t left_out(const std::int64_t* row, std::int64_t k, std::int64_t own) {
    return std::find(row, row + k, own) - row;
}

template <class T>
void copy_without(const T* row, std::int64_t k, std::int64_t out, T* to) {
    std::copy(row + out + 1, row + k + 1, std::copy(row, row + out, to));
}

void append_row(const PartialNeighbors& part, std::int64_t i, std::vector<cpu::Neighbor>& row) {
    for (std::int64_t at = i * part.k; at < (i + 1) * part.k; ++at) {
        const std::int64_t id = part.ids[static_cast<std::size_t>(at)];
        if (id >= 0) row.push_back({part.keys[static_cast<std::size_t>(at)], id});
    }
}

}  // namespace

void put_without_own(const Neighbors& found, std::int64_t first, const NeighborsView& out) {
    const std::int64_t k = found.k - 1;
    for (std::int64_t i = 0; i < found.queries; ++i) {
        const std::int64_t* const ids = found.ids.data() + i * found.k;
        const std::int64_t gap = left_out(ids, k, first + i);
        copy_without(ids, k, gap, out.ids + i * k);
        if (!out.distances) continue;
        if (found.distances64.empty())
            copy_without(found.distances.data() + i * found.k, k, gap,
                         static_cast<float*>(out.distances) + i * k);
        else
            copy_without(found.distances64.data() + i * found.k, k, gap,
                         static_cast<double*>(out.distances) + i * k);
    }
}

void put(const Neighbors& found, const NeighborsView& out) {
    const auto copy = [&](const auto& from, void* to) {
        using T = typename std::remove_cvref_t<decltype(from)>::value_type;
        if (out.device != host_memory) gpu::copy(to, from.data(), from.size() * sizeof(T));
        else std::copy(from.begin(), from.end(), static_cast<T*>(to));
    };
    copy(found.ids, out.ids);
    if (!out.distances) return;
    if (found.distances64.empty()) copy(found.distances, out.distances);
    else copy(found.distances64, out.distances);
}

cpu::ReportedDistance distances_of_shards(const Metric& metric, std::int64_t dimensions) {
    MetricSpec spec;
    spec.id = computed_metric(metric);
    spec.params.d = dimensions;
    spec.params.p = metric.p;
    spec.params.packed_bits = metric.packed_bits;
    spec.wide = true;
    return cpu::ReportedDistance(spec);
}

Neighbors reported_neighbors(const PartialNeighbors& partial, const cpu::ReportedDistance& reported,
                             bool f64) {
    Neighbors result;
    result.queries = partial.queries;
    result.k = partial.k;
    result.ids = partial.ids;
    if (f64) {
        result.distances64.reserve(partial.keys.size());
        for (const double key : partial.keys) result.distances64.push_back(reported(key));
    } else {
        result.distances.reserve(partial.keys.size());
        for (const double key : partial.keys)
            result.distances.push_back(static_cast<float>(reported(key)));
    }
    return result;
}

void merge_rows(PartialNeighbors& into, const PartialNeighbors& other, std::int64_t first,
                std::int64_t last) {
    std::vector<cpu::Neighbor> row;
    for (std::int64_t i = first; i < last; ++i) {
        row.clear();
        append_row(into, i, row);
        append_row(other, i, row);
        std::sort(row.begin(), row.end());
        const auto same = [](const cpu::Neighbor& a, const cpu::Neighbor& b) {
            return a.id == b.id;
        };
        row.erase(std::unique(row.begin(), row.end(), same), row.end());
        row.resize(static_cast<std::size_t>(into.k), {no_key, -1});
        for (std::size_t j = 0; j < row.size(); ++j) {
            const std::size_t at = static_cast<std::size_t>(i * into.k) + j;
            into.ids[at] = row[j].id;
            into.keys[at] = row[j].rank;
        }
    }
}

}  // namespace kith::api
