// Batches of every kind: of one point and of none, of no queries, more neighbours than points, shared points, gaps
// between queries; and their answer by a search of each.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kith/batches.h"
#include "kith/kith.h"
#include "search_cases.h"

namespace batches_cases {

// For points [0, n) and queries [0, q), n and q at least 100.
inline std::vector<kith::Batch> ragged(std::int64_t n, std::int64_t q) {
    return {{0, n / 2, 0, q / 3},            // large
            {n / 2, 1, q / 3, 5},            // one point
            {n / 2, 0, q / 3 + 5, 4},        // none
            {n / 2 + 1, 7, q / 3 + 9, 0},    // no queries
            {n / 4, n / 3, q / 3 + 11, 20},  // points of another's; two queries before it are of no batch
            {n - n / 3, n / 3, q / 3 + 31, q - q / 3 - 40}};  // the last points; nine queries after them
}

// The result of search() in each on the CPU.
inline kith::Neighbors expected(const search_cases::Case& c, const std::vector<kith::Batch>& batches, std::int64_t k,
                                kith::Options options) {
    options.device = "cpu";
    options.path = "exact";
    kith::Neighbors all;
    all.queries = c.queries.view.rows;
    all.k = k;
    const bool similarity = oracle::definition(c.variant.name).similarity;
    const double missing =
        similarity ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    const auto cells = static_cast<std::size_t>(all.queries * k);
    all.ids.assign(cells, -1);
    (void)(options.f64 ? all.distances64.assign(cells, missing)
                       : all.distances.assign(cells, static_cast<float>(missing)));
    const auto rows = [](kith::MatrixView v, std::int64_t first, std::int64_t count) {
        const std::int64_t step = v.layout == kith::Layout::row_major ? v.stride : 1;
        v.data = static_cast<const char*>(v.data) + first * step * static_cast<std::int64_t>(kith::size_of(v.type));
        v.rows = count;
        return v;
    };
    for (const kith::Batch& b : batches) {
        if (b.points == 0 || b.queries == 0) continue;
        kith::NeighborsView out{all.ids.data() + b.first_query * k, nullptr, kith::host_memory};
        if (options.f64) out.distances = all.distances64.data() + b.first_query * k;
        else out.distances = all.distances.data() + b.first_query * k;
        kith::search_into(rows(c.points.view, b.first_point, b.points), rows(c.queries.view, b.first_query, b.queries),
                          k, options, out);
    }
    return all;
}

}  // namespace batches_cases
