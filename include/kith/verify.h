// Verifies that given neighbours are the true ones: verify(), and verify_graph() for a set of points among themselves.
//
//     kith::Verification v = kith::verify(points, queries, kith::search(points, queries, 10));
//     v.is_exact();   v.wrong_rows;   v.first_wrong.front().why;
//
// It searches again and compares: ids in order, and distances bit by bit if they are given. Results of search() and
// graph() pass for any data. An equally near neighbour in place of another is a tie: exact up to ties. Nearness is the
// canonical order, before a root is taken and rounded (docs/contract.md, sections 1 and 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// The neighbours to verify, a row of k for each query, in host memory. The views must stay valid.
struct FoundNeighbors {
    MatrixView ids{};        // q x k of i64, row-major
    MatrixView distances{};  // q x k of f32 or f64, row-major; without data they are not compared

    FoundNeighbors() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): verify(points, queries, ids)
    FoundNeighbors(const MatrixView& ids_, const MatrixView& distances_ = {}) : ids(ids_), distances(distances_) {}
    // From a result of search() or graph().
    KITH_EXPORT FoundNeighbors(const Neighbors& found);  // NOLINT: verify(points, queries, search(points, queries, 10))
};

struct VerifyOptions {
    // The metric, and how to search: device, memory, threads, path, isa, progress. f64 and include_self are ignored.
    Options search{};
    std::int64_t sample = 0;  // number of rows to verify, evenly spaced; 0: all
    // verify_graph(): whether each row begins with its own point, as with Options::include_self. Unset: true if most
    // rows that begin with a point begin with their own.
    std::optional<bool> include_self{};
    // Another program computed the distances and may round differently: the tolerance is a thousandth of the largest
    // distance seen, instead of bit equality.
    bool distances_of_others = false;
    std::int64_t described = 10;  // most wrong rows that Verification::first_wrong describes
};

// How distances were compared.
enum class DistancesCompared : std::uint8_t {
    none,    // none were given
    f32,     // bit by bit, the canonical distance rounded to f32; also for f64 that are all values of f32
    f64,     // bit by bit
    nearly,  // VerifyOptions::distances_of_others
};
// "not compared", "f32", "f64", "nearly".
KITH_EXPORT const char* name(DistancesCompared compared);

struct WrongRow {
    std::int64_t row = 0;
    std::int64_t place = 0;  // index of the first fault, from 0
    std::string why;
    std::vector<double> distances;  // canonical distances of the given ids; NaN for invalid ids
    std::vector<std::int64_t> expected_ids;
    std::vector<double> expected_distances;
};

struct Verification {
    std::int64_t rows = 0;      // verified
    std::int64_t all_rows = 0;  // in total
    std::int64_t k = 0;
    bool include_self = false;  // rows are assumed to begin with their own point, which k counts
    // Rows with the right neighbours in order; with others that are as near; and with any fault: wrong neighbours,
    // wrong order, wrong distances.
    std::int64_t exact = 0, tied = 0, wrong = 0;
    std::int64_t only_distances = 0;       // wrong rows with the right neighbours
    std::vector<std::int64_t> wrong_rows;  // their numbers, ascending
    std::vector<WrongRow> first_wrong;
    std::int64_t neighbours = 0;  // existing ones, own points excluded
    std::int64_t hits = 0;        // of them, found: anywhere in their row, or as near as the last

    DistancesCompared compared = DistancesCompared::none;
    std::int64_t distances = 0;    // compared; not those of invalid ids
    std::int64_t different = 0;    // of them; with `nearly` those beyond the tolerance
    std::int64_t nan = 0;          // NaN among the different ones
    std::int64_t largest_ulp = 0;  // between a given distance and the canonical one
    double largest_share = 0;      // likewise, relative to the canonical distance
    Report report;                 // of the reference search

    bool is_exact() const { return wrong == 0; }  // up to ties
    double recall() const { return neighbours > 0 ? static_cast<double>(hits) / static_cast<double>(neighbours) : 1.0; }
    // "exact", "exact up to ties listed in another order" or "NOT exact".
    const char* verdict() const {
        return wrong > 0 ? "NOT exact" : tied > 0 ? "exact up to ties listed in another order" : "exact";
    }
};

// points n x d, queries q x d: see search(). The row of a query with a NaN coordinate must have no neighbours: ids -1
// at infinity. Complexity: that of a search for k neighbours. Throws invalid_argument (also for mismatched shapes and
// types; ids may be any numbers), device, out_of_memory, cancelled.
KITH_EXPORT Verification verify(const MatrixView& points, const MatrixView& queries, const FoundNeighbors& found,
                                const VerifyOptions& options = {});
// The points among themselves: row i belongs to point i, which is its own neighbour only at the beginning, if at all.
KITH_EXPORT Verification verify_graph(const MatrixView& points, const FoundNeighbors& found,
                                      const VerifyOptions& options = {});

}  // namespace kith
